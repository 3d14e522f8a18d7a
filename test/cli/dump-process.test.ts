import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeIo } from './fake-io';

const describeOnLinux = process.platform === 'linux' ? describe : describe.skip;

// The signal is sent only on Linux, where /proc has which signals a process handles.
describeOnLinux('grpc-xds dump --pid', () => {
  const children: ChildProcess[] = [];
  let folder: string;
  let io: FakeIo;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'dump-pid-'));
    io = new FakeIo();
    io.env = { ...process.env, TMPDIR: folder };
  });
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  });

  /** Starts a process, and waits for its first output. */
  async function start(...args: readonly string[]): Promise<ChildProcess & { pid: number }> {
    const child = spawn(process.execPath, args, { env: io.env });
    children.push(child);
    await once(child.stdout, 'data');
    const { pid } = child;
    if (pid === undefined) throw new Error('The process has not started');
    return Object.assign(child, { pid });
  }

  const startOptedIn = () =>
    start(
      '--require',
      join(__dirname, '../support/run-typescript.cjs'),
      join(__dirname, '../e2e/children/dump-on-signal.ts'),
    );
  const startOther = () =>
    start('--eval', 'setInterval(() => {}, 1000); process.stdout.write("ready")');
  const dump = (pid: number) => io.run('dump', '--pid', `${pid}`, '--json');

  it('prints the report that a process writes on its signal', async () => {
    const child = await startOptedIn();
    expect(await dump(child.pid)).toBe(0);
    expect(JSON.parse(io.out.join('\n'))).toMatchObject({
      'x-dump': { source: `process ${child.pid}`, resources: [] },
      'x-report': { schema: 1, pid: child.pid, targets: [] },
    });
    expect(io.errors).toEqual([]);
    // The report has been read; only the marker is left.
    expect(readdirSync(folder).filter((name) => name.endsWith('.json'))).toEqual([]);
    // The file by which the process was recognized is removed when it ends.
    const marker = join(folder, `grpc-xds-${child.pid}.SIGUSR2`);
    expect(existsSync(marker)).toBe(true);
    child.stdin?.end();
    await once(child, 'exit');
    expect(existsSync(marker)).toBe(false);
  });

  it.each<[string, (path: string) => boolean]>([
    [
      'belongs to the user 4711',
      (path) => {
        writeFileSync(path, '{}\n');
        const isRoot = process.getuid?.() === 0;
        if (isRoot) chownSync(path, 4711, 4711);
        return isRoot;
      },
    ],
    [
      'is no file',
      (path) => {
        symlinkSync(join(folder, 'elsewhere'), path);
        return true;
      },
    ],
    [
      'without the sticky bit',
      (path) => {
        writeFileSync(path, '{}\n');
        chmodSync(folder, 0o777);
        return true;
      },
    ],
  ])('reads no report that another user may have written: %s', async (problem, plant) => {
    const child = await startOptedIn();
    const path = join(folder, `grpc-xds-${child.pid}-1.json`);
    let isPlanted = true;
    // Before the process could write its own.
    const kill = jest.spyOn(process, 'kill').mockImplementation(() => {
      isPlanted = plant(path);
      return true;
    });
    const code = await dump(child.pid);
    kill.mockRestore();
    if (!isPlanted) return;
    expect(code).toBe(2);
    expect(io.errors.join('')).toContain(`process ${child.pid}: its report is not read: `);
    expect(io.errors.join('')).toContain(problem);
  });

  it('sends no signal to a process that has not opted in, and ends with 2', async () => {
    const child = await startOther();
    expect(await dump(child.pid)).toBe(2);
    // As an earlier process with the same id may have left it.
    writeFileSync(join(folder, `grpc-xds-${child.pid}.SIGUSR2`), '');
    expect(await dump(child.pid)).toBe(2);
    const text = `process ${child.pid}: has not opted in: it must call dumpOnSignal('SIGUSR2'), with the same TMPDIR as this command`;
    expect(io.errors).toEqual([text, text]);
    expect(child.signalCode).toBeNull();
    expect(child.kill(0)).toBe(true);
    expect(readdirSync(folder)).toHaveLength(1);
  });

  it('ends with 3 if there is no such process, and with 2 for what is not an id', async () => {
    const child = await startOther();
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await dump(child.pid)).toBe(3);
    expect(io.errors[0]).toBe(
      `process ${child.pid}: there is no such process; check the id, which changes with each start`,
    );
    expect(await io.run('dump', '--pid', '-1')).toBe(2);
    expect(await io.run('dump', '--pid', 'all')).toBe(2);
  });
});
