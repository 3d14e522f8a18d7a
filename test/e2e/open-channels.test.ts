import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import {
  connect,
  createServer as createTcpServer,
  type AddressInfo,
  type Server as NetServer,
  type Socket,
} from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { pathToFileURL } from 'node:url';
import { Server } from '@grpc/grpc-js';
import { OrcaReporter } from '../../src/orca';
import { echoMethod } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import {
  bootstrapFor,
  Mesh,
  SERVICE,
  simpleResources,
  DISTANT_VARIANTS,
  useMesh,
} from '../support/mesh';
import type { MeshResources } from '../support/mesh';
import { RestServer } from '../support/rest-server';
import { edsClusterJson, type Json } from '../support/xds-json';
import { bind, listen } from '../support/listen';
import { environmentOf, TYPESCRIPT } from '../support/run-child';
import type { BootstrapConfig } from '../../src';

const script = join(__dirname, 'children/open-channel.ts');
const certificate = (name: string) => join(__dirname, '../security/credentials/certificates', name);

/** What a process that does not end by itself is given: far longer than any needs on a busy machine. */
const KILL_MS = 60_000;
jest.setTimeout(2 * KILL_MS);

const TYPES: Readonly<Record<keyof MeshResources, string>> = {
  listeners: 'envoy.config.listener.v3.Listener',
  routes: 'envoy.config.route.v3.RouteConfiguration',
  clusters: 'envoy.config.cluster.v3.Cluster',
  endpoints: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
};

function typed(resources: MeshResources, kind: keyof MeshResources): Json[] {
  const type = `type.googleapis.com/${TYPES[kind]}`;
  return resources[kind].map((resource) => ({ '@type': type, ...resource }));
}

const POLICIES = 'type.googleapis.com/envoy.extensions.load_balancing_policies';

const KINDS = ['listeners', 'routes', 'clusters', 'endpoints'] as const;

/** A process that uses a channel and never closes it. */
class Child {
  out = '';
  private readonly process: ChildProcess;
  /** Its output is complete only then. */
  private readonly closed: Promise<unknown>;

  constructor(scenario: string, bootstrap: BootstrapConfig) {
    const env = environmentOf({ bootstrap });
    const args = [...TYPESCRIPT, script, scenario, `xds:///${SERVICE}`];
    this.process = spawn(process.execPath, args, { env, timeout: KILL_MS, killSignal: 'SIGKILL' });
    this.closed = once(this.process, 'close');
    this.process.stdout?.on('data', (chunk: Buffer) => (this.out += String(chunk)));
  }

  async untilPrinted(line: string): Promise<void> {
    await eventually(
      () => this.out,
      (out) => out.includes(line),
      KILL_MS,
    );
  }

  /** @returns what it printed and how it ended: `signal` is set if it did not by itself. */
  async end(): Promise<{ out: string; code: number | null; signal: string | null }> {
    await this.closed;
    return { out: this.out.trim(), code: this.process.exitCode, signal: this.process.signalCode };
  }
}

const endedWith = (...lines: string[]) => ({ out: lines.join('\n'), code: 0, signal: null });

describe('a process whose channel is never closed', () => {
  const mesh = useMesh({ controlPlane: { loadReporting: { intervalMs: 600_000 } } });
  let resources: MeshResources;
  const cleanups: (() => void)[] = [];

  beforeEach(async () => {
    const backend = await mesh.backend('b1');
    resources = simpleResources([backend.port]);
    mesh.serve(resources);
  });
  afterEach(() => {
    for (const cleanup of cleanups.splice(0)) cleanup();
  });

  const afterACall = (bootstrap: BootstrapConfig) => new Child('call', bootstrap).end();

  it.each(DISTANT_VARIANTS)('ends after its last call: %s', async (_name, features) => {
    expect(await afterACall(bootstrapFor(mesh.address, features))).toEqual(endedWith('answer b1'));
  });

  it('ends after calls on many channels, without a warning', async () => {
    const child = new Child('calls on many channels', bootstrapFor(mesh.address));
    expect(await child.end()).toEqual(endedWith('answers'));
  });

  it('ends after its last call while its load is reported', async () => {
    const clusters = [edsClusterJson('echo', { lrs_server: { self: {} } })];
    mesh.serve({ ...resources, clusters });
    expect(await afterACall(bootstrapFor(mesh.address))).toEqual(endedWith('answer b1'));
  });

  it('ends after its last call while a backend streams its load to it', async () => {
    const reporter = new OrcaReporter();
    const server = new Server();
    reporter.addTo(server);
    const answer = (_call: unknown, callback: (error: null, text: Buffer) => void) =>
      callback(null, Buffer.from('b2'));
    server.addService({ say: echoMethod }, { say: answer });
    cleanups.push(() => server.forceShutdown());
    const port = await bind(server);
    const policy = {
      '@type': `${POLICIES}.client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin`,
      enable_oob_load_report: true,
    };
    const wrr = { policies: [{ typed_extension_config: { name: 'wrr', typed_config: policy } }] };
    const clusters = [edsClusterJson('echo', { load_balancing_policy: wrr })];
    mesh.serve({ ...simpleResources([port]), clusters });
    expect(await afterACall(bootstrapFor(mesh.address))).toEqual(endedWith('answer b2'));
  });

  it('ends after its last call when the management server is reached through TLS', async () => {
    const { port } = new URL(`http://${mesh.address}`);
    const options = {
      cert: readFileSync(certificate('server.pem')),
      key: readFileSync(certificate('server.key')),
      ALPNProtocols: ['h2'],
    };
    const terminator = createServer(options, (socket) => {
      const upstream = connect(Number(port), '127.0.0.1');
      for (const end of [socket, upstream]) end.on('error', () => undefined);
      socket.pipe(upstream).pipe(socket);
    }).listen(0, 'localhost');
    cleanups.push(() => terminator.close());
    await once(terminator, 'listening');
    const address = `localhost:${(terminator.address() as AddressInfo).port}`;
    const config = { ca_certificate_file: certificate('ca.pem') };
    const server = { server_uri: address, channel_creds: [{ type: 'tls', config }] };
    const bootstrap = { xds_servers: [server], node: { id: 'n' } };
    expect(await afterACall(bootstrap)).toEqual(endedWith('answer b1'));
  });

  it('ends after its last call when its resources are in a file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'open-channels-'));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'resources.yaml');
    const all = KINDS.flatMap((kind) => typed(resources, kind));
    writeFileSync(path, JSON.stringify({ resources: all }));
    const bootstrap = { xds_servers: [{ server_uri: pathToFileURL(path).href }] };
    expect(await afterACall(bootstrap)).toEqual(endedWith('answer b1'));
  });

  it('ends after its last call when a server is polled that does not answer further polls', async () => {
    const server = await RestServer.start(({ path, body }) => {
      const kind = KINDS.find((each) => path.endsWith(each));
      if (kind === undefined || body.version_info === '1') return undefined;
      return { body: { version_info: '1', resources: typed(resources, kind) } };
    });
    cleanups.push(() => server.stop());
    const polled = { server_uri: server.uri, refresh_delay: '0.01s', request_timeout: '600s' };
    const bootstrap = { xds_servers: [polled], node: { id: 'n' } };
    const child = new Child('calls for some time', bootstrap);
    expect(await child.end()).toEqual(endedWith('answer b1', 'answer b1'));
    expect(server.bodies('/v3/discovery:listeners').length).toBeGreaterThan(1);
  });

  it('ends when it connects and makes no call', async () => {
    const child = new Child('connection', bootstrapFor(mesh.address));
    expect(await child.end()).toEqual(endedWith('connecting'));
  });

  it('ends after a call that failed because the management server cannot be reached', async () => {
    const { address } = mesh;
    mesh.killControlPlane();
    const { out, ...ended } = await afterACall(bootstrapFor(address));
    expect(out).toContain('cannot be reached');
    expect(ended).toEqual({ code: 0, signal: null });
  });

  it('ends when the management server goes away after its last call', async () => {
    const child = new Child('call', bootstrapFor(mesh.address));
    await child.untilPrinted('answer');
    mesh.killControlPlane();
    expect(await child.end()).toEqual(endedWith('answer b1'));
  });
});

describe('a process whose call has failed because of a management server', () => {
  const closings: (() => void)[] = [];
  afterEach(() => {
    for (const close of closings.splice(0)) close();
  });

  async function addressOf(server: NetServer): Promise<string> {
    closings.push(() => server.close());
    return `127.0.0.1:${await listen(server)}`;
  }

  const tcpServer = (onSocket: (socket: Socket) => void = () => undefined) =>
    createTcpServer({ allowHalfOpen: true }, (socket) => {
      closings.push(() => socket.destroy());
      socket.on('error', () => undefined).resume();
      onSocket(socket);
    });

  const http2Server = (onStream: (stream: ServerHttp2Stream) => void = () => undefined) =>
    createHttp2Server()
      .on('session', (session) => {
        closings.push(() => session.destroy());
        session.on('error', () => undefined);
      })
      .on('stream', (stream) => {
        stream.on('error', () => undefined);
        onStream(stream);
      });

  const servers: Readonly<Record<string, () => NetServer>> = {
    'accepts connections and is mute': () => tcpServer(),
    'closes its half of a connection': () => tcpServer((socket) => socket.end()),
    'closes connections': () => tcpServer((socket) => socket.destroy()),
    'answers no stream': () => http2Server(),
    'answers streams with headers only': () =>
      http2Server((stream) =>
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' }),
      ),
  };
  const credentials = { insecure: [{ type: 'insecure' }], tls: [{ type: 'tls' }] };
  const isTried = (what: string, type: string) =>
    type === 'insecure' || / mute| connections$/.test(what);
  const cases = Object.entries(servers).flatMap(([what, server]) =>
    Object.entries(credentials)
      .filter(([type]) => isTried(what, type))
      .map(([type, channel_creds]) => [what, type, server, channel_creds] as const),
  );
  const done = endedWith('done');

  /** Starts a process for each case, all at once: they wait for their deadlines. @returns how each ended. */
  const endsOf = (chosen: typeof cases, others: BootstrapConfig['xds_servers'] = []) =>
    Promise.all(
      chosen.map(async ([what, type, server, channel_creds]) => {
        const first = { server_uri: await addressOf(server()), channel_creds };
        const bootstrap = { xds_servers: [first, ...others], node: { id: 'n' } };
        return [what, type, await new Child('call with a deadline', bootstrap).end()];
      }),
    );

  it('ends, whatever that does', async () => {
    expect(await endsOf(cases)).toEqual(cases.map(([what, type]) => [what, type, done]));
  });

  it('ends with another one for fallback', async () => {
    const mesh = await Mesh.start();
    closings.push(() => mesh.stop());
    const chosen = cases.filter(([what, type]) => type === 'insecure' && isTried(what, 'tls'));
    const { xds_servers } = bootstrapFor(mesh.address);
    const ends = await endsOf(chosen, xds_servers);
    expect(ends).toEqual(chosen.map(([what, type]) => [what, type, done]));
  });

  it('ends once its channel is closed if the server freezes after it was connected to', async () => {
    // SETTINGS, and the acknowledgement of those of the client.
    const settings = Buffer.from('000000040000000000000000040100000000', 'hex');
    const address = await addressOf(tcpServer((socket) => socket.write(settings)));
    const child = new Child('call with a deadline, and close', bootstrapFor(address));
    expect(await child.end()).toEqual(done);
  });

  // Other systems than Linux answer connections that do not fit into the queue of a process.
  const onLinux = process.platform === 'linux' ? it : it.skip;
  onLinux('ends once its channel is closed if connections are dropped', async () => {
    const listening = `
      require('net').createServer().listen({ host: '127.0.0.1', port: 0, backlog: 1 }, function () {
        require('fs').writeSync(1, String(this.address().port));
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      });`;
    const frozen = spawn(process.execPath, ['-e', listening]);
    closings.push(() => frozen.kill('SIGKILL'));
    const [port] = (await once(frozen.stdout, 'data')) as [Buffer];
    for (let count = 0; count < 4; count++) {
      const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
      closings.push(() => socket.destroy());
    }
    const bootstrap = bootstrapFor(`127.0.0.1:${String(port)}`);
    const child = new Child('call with a deadline, and close', bootstrap);
    expect(await child.end()).toEqual(done);
  });
});

describe('a process with a pending call and no deadline', () => {
  const mesh = useMesh();

  const anyService = async () => simpleResources([(await mesh.backend('b1')).port]);

  it('stays alive until its first config has arrived', async () => {
    const resources = await anyService();
    const child = new Child('call', bootstrapFor(mesh.address));
    await eventually(() => mesh.controlPlane.clients().length, 1, KILL_MS);
    mesh.serve(resources);
    expect(await child.end()).toEqual(endedWith('answer b1'));
  });

  it('stays alive while the call waits for a management server that is down', async () => {
    const resources = await anyService();
    const { address } = mesh;
    mesh.killControlPlane();
    const child = new Child('call that waits', bootstrapFor(address));
    await child.untilPrinted('waiting');
    await mesh.restartControlPlane(resources);
    expect(await child.end()).toEqual(endedWith('waiting', 'answer b1'));
  });

  it('stays alive while the first call after idleness waits for a management server', async () => {
    const resources = await anyService();
    mesh.serve(resources);
    const child = new Child('call after idleness that waits', bootstrapFor(mesh.address));
    await child.untilPrinted('answer');
    mesh.killControlPlane();
    await child.untilPrinted('waiting');
    // The child has to find out that the server is down before it is there again.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await mesh.restartControlPlane(resources);
    expect(await child.end()).toEqual(endedWith('answer b1', 'waiting', 'answer b1'));
  });
});
