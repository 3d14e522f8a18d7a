import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { watchResourceFile, type ResourceFileWatchOptions } from '../../src/control-plane';
import { clusterKind } from '../../src/control-plane/resource';
import type { Closable } from '../../src/util/handle';
import { systemClock, type Clock } from '../../src/util/clock';
import { silentLogger } from '../../src/util/logger';
import { FakeClock } from '../support/fake-clock';

describe('watchResourceFile', () => {
  let folder: string;
  let file: string;
  let watch: Closable | undefined;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'resource-file-watch-'));
    file = join(folder, 'f.yaml');
  });
  afterEach(() => {
    watch?.close();
    rmSync(folder, { recursive: true });
  });

  /** Starts a watch that records the cluster names, such as `a b`, or the error message. */
  function start(options: ResourceFileWatchOptions = {}, clock: Clock = systemClock) {
    const reports: string[] = [];
    const waiting: ((report: string) => void)[] = [];
    const report = (text: string) => {
      const waiter = waiting.shift();
      if (waiter === undefined) reports.push(text);
      else waiter(text);
    };
    watch = watchResourceFile(
      file,
      {
        onSnapshot: (snapshot) => report([...snapshot.set(clusterKind).byName.keys()].join(' ')),
        onError: (error) => report(error.message.replaceAll(folder, '')),
      },
      { debounceMs: 10, pollMs: 20, ...options },
      { clock },
    );
    const next = () => {
      const first = reports.shift();
      if (first !== undefined) return Promise.resolve(first);
      return new Promise<string>((resolve) => waiting.push(resolve));
    };
    return { reports, next };
  }

  const clusters = (...names: readonly string[]) =>
    JSON.stringify({ clusters: names.map((name) => ({ name })) });

  it('loads the file synchronously', () => {
    writeFileSync(file, clusters('a'));
    expect(start().reports).toEqual(['a']);
  });

  it('reloads the file when it is written', async () => {
    writeFileSync(file, clusters('a'));
    const { next } = start();
    await next();
    writeFileSync(file, clusters('a', 'b'));
    expect(await next()).toBe('a b');
  });

  it('reloads the file each time it is replaced', async () => {
    writeFileSync(file, clusters('a'));
    const { next } = start();
    await next();
    for (const name of ['b', 'c']) {
      writeFileSync(`${file}.new`, clusters(name));
      renameSync(`${file}.new`, file);
      expect(await next()).toBe(name);
    }
  });

  it('reports an invalid file, and the valid one after it even if unchanged', async () => {
    writeFileSync(file, clusters('a'));
    const { next } = start();
    await next();
    writeFileSync(file, 'clusters:\n  - nam: a\n');
    expect(await next()).toBe(
      '/f.yaml:2:5: clusters[0]: name: field not present\n' +
        '/f.yaml:2:5: clusters[0]: unknown field "nam"',
    );
    writeFileSync(file, clusters('a'));
    expect(await next()).toBe('a');
  });

  it('reports a removed file, and the restored one', async () => {
    writeFileSync(file, clusters('a'));
    const { next } = start();
    await next();
    unlinkSync(file);
    const missing = "/f.yaml: cannot be read: ENOENT: no such file or directory, open '/f.yaml'";
    expect(await next()).toBe(missing);
    writeFileSync(file, clusters('b'));
    expect(await next()).toBe('b');
  });

  it('follows the symbolic links of a Kubernetes ConfigMap', async () => {
    const version = (name: string) => {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'f.yaml'), clusters(name));
      symlinkSync(name, join(folder, '..data.new'));
      renameSync(join(folder, '..data.new'), join(folder, '..data'));
    };
    version('v1');
    symlinkSync(join('..data', 'f.yaml'), file);
    const { next } = start({ pollMs: 60_000 });
    expect(await next()).toBe('v1');
    version('v2');
    expect(await next()).toBe('v2');
  });

  it('watches a folder that does not exist yet', async () => {
    file = join(folder, 'later', 'f.yaml');
    const { next } = start();
    expect(await next()).toMatch(/^\/later\/f.yaml: cannot be read: ENOENT/);
    mkdirSync(join(folder, 'later'));
    writeFileSync(file, clusters('a'));
    expect(await next()).toBe('a');
  });

  it('rejects an inconsistent file without allowInconsistent', () => {
    writeFileSync(file, '{"clusters": [{"name": "a", "type": "EDS"}]}');
    expect(start().reports).toEqual([
      '/f.yaml:1:16: cluster "a": name: endpoint assignment "a" is not in the snapshot',
    ]);
    watch?.close();
    expect(start({ allowInconsistent: true }).reports).toEqual(['a']);
  });

  it('reads the file after the debounce delay, and reports nothing if its text is unchanged', () => {
    const clock = new FakeClock();
    file = join(folder, 'later', 'f.yaml');
    const { reports } = start({ debounceMs: 100, pollMs: 1000 }, clock);
    mkdirSync(join(folder, 'later'));
    writeFileSync(file, clusters('a'));
    clock.advance(1099);
    expect(reports).toHaveLength(1);
    clock.advance(1);
    expect(reports.slice(1)).toEqual(['a']);

    utimesSync(file, 1, 1);
    clock.advance(2000);
    expect(reports.slice(1)).toEqual(['a']);

    writeFileSync(file, clusters('b'));
    clock.advance(1000);
    expect(reports.slice(1)).toEqual(['a', 'b']);
  });

  it('ends when it is closed', async () => {
    const clock = new FakeClock();
    writeFileSync(file, clusters('a'));
    const { reports } = start({}, clock);
    watch?.close();
    watch?.close();
    writeFileSync(file, clusters('b'));
    await new Promise<void>((resolve) => systemClock.setTimer(resolve, 60));
    expect(clock.pendingTimers).toBe(0);
    expect(reports).toEqual(['a']);
  });

  it.each<['throws' | 'rejects', () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('oops');
      },
    ],
    ['rejects', () => Promise.reject(new Error('oops'))],
  ])('logs what the listener %s, and goes on', async (_, fail) => {
    const clock = new FakeClock();
    const errors: string[] = [];
    const logger = { ...silentLogger, error: (text: () => string) => errors.push(text()) };
    const calls: string[] = [];
    const listener = {
      onSnapshot: () => {
        calls.push('snapshot');
        return fail();
      },
      onError: () => {
        calls.push('error');
        return fail();
      },
    };
    writeFileSync(file, clusters('a'));
    watch = watchResourceFile(file, listener, { logger }, { clock });
    for (const text of ['{', clusters('a', 'b'), '[']) {
      writeFileSync(file, text);
      clock.advance(2000);
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(calls).toEqual(['snapshot', 'error', 'snapshot', 'error']);
    expect(errors.map((text) => text.replace(folder, '').split('\n', 1)[0])).toEqual(
      calls.map(
        (call) =>
          `resource file /f.yaml: on${call === 'error' ? 'Error' : 'Snapshot'} threw: Error: oops`,
      ),
    );
  });
});
