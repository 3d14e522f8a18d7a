import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../support/eventually';
import { FakeIo } from './fake-io';

describe('grpc-xds demo', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'grpc-xds-demo-test-'));
    mkdirSync(join(folder, 'examples', 'demo'), { recursive: true });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it.each([0, 1])('runs the example of the package, and ends as it does: %p', async (code) => {
    const mark = join(folder, 'mark');
    const script = `import { writeFileSync } from 'node:fs';
      writeFileSync(${JSON.stringify(mark)}, '');
      process.exitCode = ${code};`;
    writeFileSync(join(folder, 'examples', 'demo', 'main.mjs'), script);
    const io = new FakeIo();
    io.packageFolder = folder;
    expect(await io.run('demo')).toBe(code);
    expect(existsSync(mark)).toBe(true);
  });

  it('ends the demo when it is interrupted', async () => {
    const mark = join(folder, 'mark');
    const script = `import { writeFileSync } from 'node:fs';
      setInterval(() => undefined, 60_000);
      writeFileSync(${JSON.stringify(mark)}, '');`;
    writeFileSync(join(folder, 'examples', 'demo', 'main.mjs'), script);
    const io = new FakeIo();
    io.packageFolder = folder;
    const ended = io.run('demo');
    await eventually(
      () => existsSync(mark),
      (exists) => exists,
    );
    io.pressCtrlC();
    expect(await ended).toBe(1);
  });
});
