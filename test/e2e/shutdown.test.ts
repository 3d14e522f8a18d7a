import { Metadata, Server, status, type sendUnaryData } from '@grpc/grpc-js';
import { dumpOnSignal, explainCall, register, shutdown } from '../../src';
import { serveAdminPage } from '../../packages/page/src';
import { echoMethod, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import {
  bootstrapFor,
  SERVICE,
  simpleResources,
  DISTANT_VARIANTS,
  registerAnew,
  useMesh,
} from '../support/mesh';
import { edsClusterJson } from '../support/xds-json';
import { XdsError } from '../../src/util/xds-error';
import { bind } from '../support/listen';

const ENDED = {
  code: status.UNAVAILABLE,
  details:
    'shutdown() of grpc-xds has ended this channel: call register() and create a new channel',
};
/** Of a client that reports until it is shut down. */
const REPORTING = { loadReporting: { intervalMs: 50 } };

describe('shutdown() in a process without a channel', () => {
  // First in this file: later, the process has had channels.
  it('ends channels that are created afterwards', async () => {
    await shutdown();
    register({ bootstrap: bootstrapFor('127.0.0.1:9') });
    await shutdown();
    const client = new EchoClient(`xds:///${SERVICE}`);
    expect(await client.failure()).toEqual(ENDED);
    client.close();
  });
});

describe('shutdown()', () => {
  const mesh = useMesh({ controlPlane: REPORTING });
  const cleanups: (() => void)[] = [];
  afterEach(() => {
    for (const cleanup of cleanups.splice(0)) cleanup();
  });

  /** Serves these backends, whose load is reported. */
  function serve(ports: readonly number[]): void {
    const clusters = [edsClusterJson('echo', { lrs_server: { self: {} } })];
    mesh.serve({ ...simpleResources(ports), clusters });
  }

  async function serveBackend(): Promise<void> {
    serve([(await mesh.backend('b1')).port]);
  }

  /** Waits until the server has had a report, so that the client has its order. */
  async function untilReported(calls: number): Promise<void> {
    await eventually(counts, ({ issued }) => issued === calls);
  }

  function counts() {
    const localities = mesh.controlPlane.loads().flatMap((cluster) => cluster.localities);
    const sum = (key: 'issued' | 'succeeded') => localities.reduce((n, each) => n + each[key], 0);
    return { issued: sum('issued'), succeeded: sum('succeeded') };
  }

  /** A backend whose calls are answered when the test says so. */
  async function slowBackend() {
    const started: sendUnaryData<Buffer>[] = [];
    const server = new Server();
    server.addService(
      { say: echoMethod },
      { say: (_call: unknown, callback: sendUnaryData<Buffer>) => void started.push(callback) },
    );
    cleanups.push(() => server.forceShutdown());
    const port = await bind(server);
    return { port, started, answer: () => started.pop()?.(null, Buffer.from('slow')) };
  }

  it.each(DISTANT_VARIANTS)('ends the streams of open channels: %s', async (_name, features) => {
    registerAnew({ bootstrap: bootstrapFor(mesh.address, features) });
    await serveBackend();
    const client = mesh.client();
    expect(await client.say()).toBe('b1');
    await shutdown();
    await mesh.untilNoClients();
    expect(mesh.controlPlane.loadClients()).toEqual([]);
    expect(await client.failure()).toEqual(ENDED);
  });

  it('is resolved after the last load report', async () => {
    await serveBackend();
    const client = mesh.client();
    await client.say();
    await untilReported(1);
    await Promise.all([client.say(), client.say()]);
    await shutdown();
    expect(counts()).toEqual({ issued: 3, succeeded: 3 });
  });

  it('waits for the last load report of a channel that was just closed', async () => {
    await serveBackend();
    const client = mesh.client();
    await client.say();
    await untilReported(1);
    await client.say();
    client.close();
    await shutdown();
    expect(counts()).toEqual({ issued: 2, succeeded: 2 });
  });

  it('lets calls in progress end, and reports them', async () => {
    const backend = await slowBackend();
    serve([backend.port]);
    const call = mesh.client().say();
    await untilReported(1);
    const done = shutdown();
    backend.answer();
    expect(await call).toBe('slow');
    await done;
    expect(counts()).toEqual({ issued: 1, succeeded: 1 });
  });

  it('waits no longer than its timeout for a call, and reports the calls that have ended', async () => {
    const backend = await slowBackend();
    serve([backend.port]);
    const client = mesh.client();
    const call = client.say();
    await untilReported(1);
    const ended = client.say();
    await eventually(() => backend.started.length, 2);
    backend.answer();
    await ended;
    await shutdown({ timeoutMs: 1000 });
    expect(counts()).toEqual({ issued: 2, succeeded: 1 });
    expect(mesh.controlPlane.loadClients()).toEqual([]);
    backend.answer();
    expect(await call).toBe('slow');
  });

  it('fails calls that wait for a config or for a connection, also those that wait for ready', async () => {
    const metadata = new Metadata({ waitForReady: true });
    const waiting = mesh.client();
    const withoutConfig = [waiting.failure({ metadata }), waiting.failure()];
    await eventually(() => mesh.controlPlane.clients().length, 1);
    await shutdown();
    expect(await Promise.all(withoutConfig)).toEqual([ENDED, ENDED]);
    expect(await waiting.failure({ metadata })).toEqual(ENDED);
  });

  it('fails calls that are queued for a connection', async () => {
    const gone = await mesh.backend('gone');
    gone.stop();
    serve([gone.port]);
    const client = mesh.client();
    await client.failure();
    const queued = client.failure({ metadata: new Metadata({ waitForReady: true }) });
    await shutdown();
    expect((await queued).code).toBe(status.UNAVAILABLE);
    expect((await queued).details).toMatch(/shutdown\(\) of grpc-xds|was removed while the call/);
  });

  it('ends channels that are idle, and those that were not used yet', async () => {
    await serveBackend();
    const idle = mesh.client({ 'grpc.client_idle_timeout_ms': 1000 });
    const unused = mesh.client({ 'acme.test': 1 });
    await idle.say();
    await mesh.untilNoClients();
    await shutdown();
    register({ bootstrap: bootstrapFor(mesh.address) });
    expect(await Promise.all([idle.failure(), unused.failure()])).toEqual([ENDED, ENDED]);
  });

  it('leaves channels that are created after another register() alone', async () => {
    await serveBackend();
    const before = mesh.client();
    await before.say();
    const done = shutdown();
    const between = mesh.client({ 'acme.test': 1 });
    register({ bootstrap: bootstrapFor(mesh.address) });
    const after = mesh.client({ 'acme.test': 2 });
    expect(await after.say()).toBe('b1');
    await done;
    expect(await after.say()).toBe('b1');
    expect(await Promise.all([before.failure(), between.failure()])).toEqual([ENDED, ENDED]);
  });

  it('can be called again, and at once', async () => {
    await serveBackend();
    await mesh.client().say();
    await untilReported(1);
    await Promise.all([shutdown(), shutdown()]);
    await shutdown({ timeoutMs: 0 });
    const { details } = await mesh.client().failure();
    expect(details).toBe(ENDED.details);
    expect(String(explainCall(`xds:///${SERVICE}`, '/test.Echo/Say'))).toContain('no channel');
  });

  it('closes live pages and removes the listeners of dumps', async () => {
    const [page, closed] = await Promise.all([
      serveAdminPage({ port: 0 }),
      serveAdminPage({ port: 0 }),
    ]);
    await closed.close();
    const dumps = dumpOnSignal('SIGUSR2');
    const listeners = process.listenerCount('SIGUSR2');
    await shutdown();
    expect(process.listenerCount('SIGUSR2')).toBe(listeners - 1);
    await expect(fetch(page.url)).rejects.toThrow('fetch failed');
    dumps.close();
    await page.close();
  });

  it.each<[string, unknown, string]>([
    [
      'an unknown option',
      { timeout: 1 },
      'unknown option "timeout" of shutdown() (did you mean "timeoutMs"?); the options',
    ],
    ['a number', 5, 'shutdown() takes an object with the options timeoutMs'],
    ['no number', { timeoutMs: '5' }, 'timeoutMs of shutdown() must be a number of milliseconds'],
    ['less than 0', { timeoutMs: -1 }, 'timeoutMs of shutdown() must be a number of milliseconds'],
    ['NaN', { timeoutMs: NaN }, 'timeoutMs of shutdown() must be a number of milliseconds'],
  ])('refuses %s and ends nothing', async (_name, options, message) => {
    await serveBackend();
    const client = mesh.client();
    await expect(shutdown(options as object)).rejects.toThrow(XdsError);
    await expect(shutdown(options as object)).rejects.toThrow(message);
    expect(await client.say()).toBe('b1');
  });
});
