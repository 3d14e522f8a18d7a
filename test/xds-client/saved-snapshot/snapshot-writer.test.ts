import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  decodeSnapshot,
  SnapshotWriter,
  type SnapshotWriterOptions,
} from '../../../src/xds-client/saved-snapshot/snapshot-file';
import type { ResourceSnapshot } from '../../../src/xds-client/client-snapshot';
import { eventually } from '../../support/eventually';
import { FakeClock } from '../../support/fake-clock';
import { lasting } from '../../support/lasting';
import { SlowClock } from '../../support/slow-clock';
import { toIso } from '../../../src/util/since';

const config = { path: '/saved', identity: 'same' };

/** A writer whose files are written when the test says so. */
class Scene {
  readonly clock = new FakeClock();
  readonly errors: string[] = [];
  readonly infos: string[] = [];
  readonly files: Buffer[] = [];
  accepted: readonly string[] = ['one'];
  private readonly ends: ((error?: Error) => void)[] = [];
  readonly writer: SnapshotWriter;

  constructor(options: Partial<SnapshotWriterOptions> = {}) {
    this.writer = new SnapshotWriter({
      config,
      clock: this.clock,
      logger: {
        trace() {},
        info: (text) => this.infos.push(text()),
        error: (text) => this.errors.push(text()),
      },
      read: () => this.accepted.map(resource),
      write: (_path, content) => {
        this.files.push(content);
        return new Promise((resolve, reject) => {
          this.ends.push((error) => (error === undefined ? resolve() : reject(error)));
        });
      },
      ...options,
    });
  }

  /** Ends the writing that began first. */
  async written(error?: Error): Promise<void> {
    this.ends.shift()?.(error);
    await new Promise(setImmediate);
  }

  names(): string[][] {
    return this.files.map((content) => {
      const read = decodeSnapshot(content, config.identity);
      return read.ok ? read.value.resources.map(({ name }) => name) : [read.error];
    });
  }
}

function resource(name: string): ResourceSnapshot {
  return {
    typeUrl: 'type.googleapis.com/a.B',
    name,
    status: 'ACKED',
    accepted: { version: '1', bytes: Buffer.from(name), updatedAtMs: 0 },
    failure: undefined,
    watchers: 1,
    waitingSinceMs: undefined,
  };
}

describe('the saving of resources', () => {
  it('writes changes that come together once, some time later', () => {
    const scene = new Scene();
    scene.writer.changed();
    scene.writer.changed();
    expect(scene.files).toEqual([]);
    scene.accepted = ['one', 'two'];
    scene.clock.advance(1000);
    expect(scene.names()).toEqual([['one', 'two']]);
  });

  it('writes what came during the writing after it, and never two files at a time', async () => {
    const scene = new Scene();
    scene.writer.changed();
    scene.clock.advance(1000);
    scene.accepted = ['two'];
    scene.writer.changed();
    scene.clock.advance(60_000);
    expect(scene.files).toHaveLength(1);
    await scene.written();
    scene.clock.advance(1000);
    expect(scene.names()).toEqual([['one'], ['two']]);
  });

  it('leaves the file alone when there is nothing to save', () => {
    const scene = new Scene();
    scene.accepted = [];
    scene.writer.changed();
    scene.clock.advance(1000);
    expect(scene.files).toEqual([]);
  });

  it('says once that the file cannot be written, and again when the reason is another', async () => {
    const scene = new Scene();
    for (const reason of ['disk full', 'disk full', 'no such directory']) {
      scene.writer.changed();
      scene.clock.advance(60_000);
      await scene.written(new Error(reason));
    }
    expect(scene.errors).toEqual([
      lasting('the resources in use cannot be saved in /saved: disk full'),
      lasting('the resources in use cannot be saved in /saved: no such directory'),
    ]);
  });

  it('tries again by itself after it failed, with growing delays, and says that it has succeeded', async () => {
    const scene = new Scene();
    scene.writer.changed();
    scene.clock.advance(1000);
    const sinceMs = scene.clock.now();
    for (const delayMs of [5000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
      const { length } = scene.files;
      await scene.written(new Error('ENOSPC: no space left on device, write'));
      scene.clock.advance(delayMs - 1);
      expect(scene.files).toHaveLength(length);
      scene.clock.advance(1);
      expect(scene.files).toHaveLength(length + 1);
    }
    await scene.written();
    const since = toIso(sinceMs);
    expect(scene.errors).toEqual([
      `the resources in use cannot be saved in /saved: ENOSPC: no space left on device, write (failing since ${since})`,
    ]);
    expect(scene.infos).toEqual([
      `the resources in use are saved in /saved again, after failing since ${since}`,
    ]);
    expect(scene.clock.pendingTimers).toBe(0);
  });

  it('waits longer after a file that took long to make', async () => {
    const clock = new SlowClock();
    const scene = new Scene({
      clock,
      read: () => {
        clock.spentMs += 500;
        return [resource('one')];
      },
    });
    scene.writer.changed();
    clock.advance(1000);
    await scene.written();
    scene.writer.changed();
    clock.advance(9999);
    expect(scene.files).toHaveLength(1);
    clock.advance(1);
    expect(scene.files).toHaveLength(2);
  });

  it('writes no more resources than can be read', () => {
    const one = resource('one');
    const scene = new Scene({ read: () => new Array<ResourceSnapshot>(250_001).fill(one) });
    scene.writer.changed();
    scene.clock.advance(1000);
    expect(scene.files).toEqual([]);
    expect(scene.errors).toEqual([
      expect.stringContaining('250001 resources are more than the 250000 it may have'),
    ]);
  });
});

describe('a file of saved resources', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'snapshot-writer-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const make: readonly [string, string, (path: string) => void][] = [
    ['a FIFO', 'a FIFO', (path) => execFileSync('mkfifo', [path])],
    ['a folder', 'a directory', (path) => mkdirSync(path)],
    ['a link to a device', 'a device', (path) => symlinkSync('/dev/null', path)],
  ];
  it.each(make)('does not take the place of %s', async (_name, kind, create) => {
    const path = join(folder, 'saved');
    create(path);
    const before = lstatSync(path).ino;
    const errors: string[] = [];
    const clock = new FakeClock();
    const writer = new SnapshotWriter({
      config: { path, identity: 'same' },
      clock,
      logger: { trace() {}, info() {}, error: (text) => errors.push(text()) },
      read: () => [resource('one')],
    });
    writer.changed();
    clock.advance(1000);
    await eventually(
      () => errors,
      (lines) => lines.length > 0,
    );
    expect(errors).toEqual([
      lasting(`the resources in use cannot be saved in ${path}: ${kind}, not a regular file`),
    ]);
    expect(readdirSync(folder)).toEqual(['saved']);
    expect(lstatSync(path).ino).toBe(before);
  });
});

describe('a file that cannot be written', () => {
  it('is one problem with one text, each time it is tried', async () => {
    const path = join(tmpdir(), 'grpc-xds-no-such-folder', 'saved');
    const clock = new FakeClock();
    const errors: string[] = [];
    const writer = new SnapshotWriter({
      config: { path, identity: 'same' },
      clock,
      read: () => [resource('one')],
      logger: { trace() {}, info() {}, error: (text) => errors.push(text()) },
    });
    writer.changed();
    for (let i = 0; i < 3; i++) {
      clock.advance(60_000);
      // The next attempt.
      await eventually(
        () => clock.pendingTimers,
        (count) => count === 1,
      );
    }
    expect(errors).toEqual([
      lasting(
        `the resources in use cannot be saved in ${path}: ENOENT: no such file or directory, open '${path}'`,
      ),
    ]);
  });
});
