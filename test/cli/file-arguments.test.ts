// What a command is given as a file may be a FIFO, a device or too large: it says so, and does not wait or read for ever.

import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Metadata } from '../../src/grpc-js';
import { explainResources } from '../../src/runtime/explain';
import { loadResourceFile } from '../../src/control-plane';
import { systemClock, type Clock } from '../../src/util/clock';
import { MAX_INPUT_BYTES } from '../../src/util/limits';
import { FakeIo } from './fake-io';

const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-'));
const fifo = join(folder, 'fifo');
const huge = join(folder, 'huge');
let writer: ChildProcess;

beforeAll(() => {
  execFileSync('mkfifo', [fifo]);
  writeFileSync(huge, '');
  truncateSync(huge, MAX_INPUT_BYTES + 1);
  // Ends the wait of a reader that blocks: the test fails then, and does not hang.
  writer = spawn('sh', ['-c', `while sleep 10; do : > ${fifo}; done`], { stdio: 'ignore' });
});
afterAll(() => {
  writer.kill();
  rmSync(folder, { recursive: true });
});

const TARGET = 'xds:///shop';
const COMMANDS: readonly (readonly [name: string, args: (file: string) => readonly string[]])[] = [
  ['check', (file) => ['check', file]],
  ['serve', (file) => ['serve', file, '--port', '0']],
  ['dump', (file) => ['dump', file]],
  ['dump --diff', (file) => ['dump', file, '--diff', file]],
  ['explain', (file) => ['explain', TARGET, 'a.B/C', '-f', file]],
  ['graph', (file) => ['graph', TARGET, '-f', file]],
  ['replay', (file) => ['replay', file, '--port', '0']],
  ['doctor', (file) => ['doctor', file]],
  ['dump --bootstrap', (file) => ['dump', '--bootstrap', file]],
  ['watch --bootstrap', (file) => ['watch', TARGET, '--bootstrap', file]],
];
const REASONS: readonly (readonly [kind: string, path: string, reason: RegExp])[] = [
  [
    'a FIFO without a writer',
    fifo,
    /a FIFO, not a regular file|a FIFO that nobody writes to|this FIFO has been silent/,
  ],
  ['a device', '/dev/zero', /a device, not a regular file/],
  ['a directory', folder, /a directory, not a regular file/],
  ['too large', huge, /\d+ bytes, more than \d+/],
];

/** Waits for a writer of a FIFO for a fraction of the time. */
class HastyIo extends FakeIo {
  override readonly clock: Clock = {
    ...systemClock,
    monotonicMs: () => systemClock.monotonicMs() * 100,
    setTimer: (task, delayMs, keepsAlive) => systemClock.setTimer(task, delayMs / 100, keepsAlive),
  };
}

describe.each(COMMANDS)('grpc-xds %s', (_name, args) => {
  it.each(REASONS)('refuses a file that is %s', async (_kind, path, reason) => {
    const io = new HastyIo();
    expect(await io.run(...args(path))).toBeGreaterThan(0);
    expect([...io.errors, ...io.out].join('\n')).toMatch(reason);
  });
});

it('check reads a FIFO that is written to', async () => {
  const path = join(folder, 'written');
  execFileSync('mkfifo', [path]);
  const descriptor = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const io = new FakeIo();
  writeSync(descriptor, 'clusters: []\n');
  const running = io.run('check', path);
  await new Promise((resolve) => setImmediate(resolve));
  closeSync(descriptor);
  expect(await running).toBe(0);
  expect(io.out[0]).toBe(`${path} is good:`);
});

it.each(REASONS)('explainCall() and loadResourceFile() refuse a file that is %s', (...row) => {
  const [, path, reason] = row;
  const call = { target: TARGET, method: '/a.B/C', headers: new Metadata() };
  expect(() => explainResources(path, call)).toThrow(reason);
  expect(loadResourceFile(path)).toMatchObject({
    error: { message: expect.stringMatching(reason) },
  });
});

it.each([
  [['dump', '--control-plane', '127.0.0.1:1']],
  [['dump', 'ads:127.0.0.1:1', '--diff', '/none']],
])('%j says which control plane cannot be reached, and what to do', async (args) => {
  const io = new HastyIo();
  expect(await io.run(...args)).toBe(3);
  expect(io.errors).toContain(
    'control plane 127.0.0.1:1: cannot be reached: connect ECONNREFUSED 127.0.0.1:1; check the address, and that a control plane listens there',
  );
});
