import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveAdminPage } from '../../packages/page/src';
import { Relay } from '../../packages/relay/src';
import { ControlPlane, watchResourceFile } from '../../src/control-plane';
import { bootstrapFor } from '../support/mesh';

const folder = mkdtempSync(join(tmpdir(), 'aborted-waits-'));
const controlPlane = new ControlPlane();
const relay = new Relay({
  listen: `unix:${join(folder, 'xds.sock')}`,
  bootstrap: bootstrapFor('127.0.0.1:9'),
  env: {},
});
const reason = new Error('enough');

/** Starts that can be repeated, each with what ends it. */
const starts = {
  'ControlPlane.start()': {
    start: (signal: AbortSignal) => controlPlane.start(0, { signal }),
    end: () => controlPlane.close(),
  },
  'Relay.start()': {
    start: (signal: AbortSignal) => relay.start({ signal }),
    end: () => relay.close(),
  },
  'serveAdminPage()': {
    start: (signal: AbortSignal) => serveAdminPage({ port: 0, signal }),
    end: (page: unknown) =>
      typeof page === 'object' && page !== null ? Reflect.get(page, 'close')() : undefined,
  },
};

afterAll(() => rmSync(folder, { recursive: true }));

describe.each(Object.entries(starts))('%s', (_name, { start, end }) => {
  it('is rejected with the reason of its signal, and can be called again', async () => {
    await expect(start(AbortSignal.abort(reason))).rejects.toBe(reason);
    const controller = new AbortController();
    const starting = start(controller.signal);
    controller.abort(reason);
    await expect(starting).rejects.toBe(reason);
    const later = new AbortController();
    const started = await start(later.signal);
    later.abort();
    await end(started);
  });
});

it('a control plane that was started goes on when the signal is aborted later', async () => {
  const controller = new AbortController();
  const { port } = await controlPlane.start(0, { signal: controller.signal });
  controller.abort();
  await new Promise<void>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(void socket.destroy()));
    socket.once('error', reject);
  });
  await controlPlane.close();
});

it('the watch of a resource file is closed by its signal', async () => {
  const file = join(folder, 'mesh.yaml');
  writeFileSync(file, 'clusters: []');
  let count = 0;
  const listener = { onSnapshot: () => count++, onError: () => count++ };
  const controller = new AbortController();
  const options = { debounceMs: 1, pollMs: 10, signal: controller.signal };
  watchResourceFile(file, listener, options);
  controller.abort(reason);
  writeFileSync(file, 'clusters: [ ]');
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(count).toBe(1);
  expect(() => watchResourceFile(file, listener, options)).toThrow(reason);
});

it('what waits for an API server that does not answer ends with its signal', () => {
  const hook = join(__dirname, '../support/run-typescript.cjs');
  const program = join(__dirname, '../e2e/children/aborted-kubernetes.ts');
  const output = execFileSync(process.execPath, ['--require', hook, program, folder]);
  expect(JSON.parse(output.toString())).toEqual({
    examination: 'Error: enough',
    findings: 0,
    again: 'Error: enough',
    phases: ['stopped'],
    watch: 'Error: enough',
    open: 0,
  });
});
