import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listDirectory, watchFile } from '../../src/util/file-watch';
import type { Handle } from '../../src/util/handle';
import { eventually } from '../support/eventually';
import { SlowClock } from '../support/slow-clock';

describe('watching a directory', () => {
  let folder: string;
  let changes = 0;
  let watch: Handle;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'file-watch-'));
    writeFileSync(join(folder, 'a.json'), '1');
    changes = 0;
  });
  afterEach(() => {
    watch.release();
    rmSync(folder, { recursive: true });
  });

  function start(path = folder): void {
    watch = watchFile(path, () => changes++, { debounceMs: 5, pollMs: 20 });
  }

  async function expectChange(change: () => void): Promise<void> {
    const before = changes;
    change();
    await eventually(
      () => changes,
      (count) => count > before,
    );
  }

  it('reports files that are added, written, replaced and removed', async () => {
    start();
    await expectChange(() => writeFileSync(join(folder, 'b.json'), '2'));
    await expectChange(() => writeFileSync(join(folder, 'a.json'), '11'));
    await expectChange(() => {
      writeFileSync(join(folder, '.c'), '333');
      renameSync(join(folder, '.c'), join(folder, 'a.json'));
    });
    await expectChange(() => rmSync(join(folder, 'b.json')));
  });

  it('reports a changed link', async () => {
    for (const name of ['v1', 'v2']) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'x.json'), name);
    }
    symlinkSync('v1', join(folder, 'current'));
    start(join(folder, 'current'));
    await expectChange(() => {
      symlinkSync('v2', join(folder, 'next'));
      renameSync(join(folder, 'next'), join(folder, 'current'));
    });
  });

  it('reports a directory that is created later', async () => {
    start(join(folder, 'later'));
    await expectChange(() => mkdirSync(join(folder, 'later')));
    await expectChange(() => writeFileSync(join(folder, 'later', 'x.json'), '1'));
  });

  it('reports changes beside a file that is written all the time', async () => {
    start();
    let writing = true;
    const writer = (async () => {
      for (let round = 0; writing; round++) {
        writeFileSync(join(folder, 'log'), String(round));
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    })();
    await expectChange(() => writeFileSync(join(folder, 'b.json'), '2'));
    await expectChange(() => writeFileSync(join(folder, 'b.json'), '3'));
    writing = false;
    await writer;
  });

  it('ignores a dangling link', async () => {
    symlinkSync('nowhere', join(folder, 'dangling'));
    start();
    await expectChange(() => writeFileSync(join(folder, 'b.json'), '2'));
  });
});

describe('changes without a pause', () => {
  it('are reported less often the longer a report takes', () => {
    const folder = mkdtempSync(join(tmpdir(), 'file-watch-'));
    const path = join(folder, 'a.json');
    const clock = new SlowClock();
    let changes = 0;
    const onChange = () => {
      changes++;
      clock.spentMs += 500;
    };
    const watch = watchFile(path, onChange, { clock, debounceMs: 10, pollMs: 100 });
    for (let i = 0; i < 100; i++) {
      writeFileSync(path, 'x'.repeat(i));
      clock.advance(100);
    }
    watch.release();
    rmSync(folder, { recursive: true });
    expect(changes).toBeGreaterThan(2);
    expect(changes).toBeLessThan(10);
  });
});

it('lists a directory of at most 1000 entries', () => {
  const folder = mkdtempSync(join(tmpdir(), 'file-watch-'));
  for (let i = 0; i < 1000; i++) writeFileSync(join(folder, `${i}`), '');
  expect(listDirectory(folder)).toHaveLength(1000);
  writeFileSync(join(folder, 'more'), '');
  expect(() => listDirectory(folder)).toThrow('more than 1000 entries in the directory');
  rmSync(folder, { recursive: true });
});
