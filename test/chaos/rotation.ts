// Certificates and the names that servers may have are rotated while calls are made.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { createXdsChannelCredentials } from '../../src';
import { EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { bootstrapFor, Mesh, registerAnew, SERVICE, simpleResources } from '../support/mesh';
import { mutualTlsSocket } from '../support/mutual-tls';
import { TestCertificates, type TestCertificate } from '../support/test-certificates';
import { TlsBackend, type ConnectionFacts } from '../support/tls-backend';
import { edsClusterJson, endpointsJson } from '../support/xds-json';

/** How often, and beside how many calls. */
export interface RotationOptions {
  readonly rotations: number;
  readonly callsPerSecond: number;
}

/** What became of it. */
export interface RotationReport {
  readonly calls: number;
  /** The messages of failed calls. */
  readonly failures: readonly string[];
  /** For each rotation, what its server has answered: its name, and the identity that the client presented to it. */
  readonly handshakes: readonly string[];
  /** Milliseconds from the revocation until the last call that succeeded had ended. */
  readonly revokedMs: number;
  /** Calls that succeeded after one had failed for the revocation. */
  readonly callsAfterRevocation: number;
  /** Whether calls after the revocation was taken back came by the connection of before. */
  readonly isOldConnectionUsed: boolean;
}

/** A short while: a call that needs longer than this waits for nothing that comes. */
const DEADLINE_MS = 20_000;
/** Calls after the first failure, any of which would show a connection that outlives its policy. */
const CALLS_AFTER_REVOCATION = 50;

const idOf = (generation: number) => `spiffe://mesh.test/server-${generation}`;

/** Calls at a steady pace. */
class SteadyCalls {
  readonly failures: string[] = [];
  readonly handshakes = new Set<string>();
  /** The name of the server that has answered last. */
  lastServer = '';
  calls = 0;
  private readonly pending = new Set<Promise<void>>();
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly client: EchoClient,
    callsPerSecond: number,
  ) {
    const startedAt = performance.now();
    this.timer = setInterval(() => {
      // By counting: a late timer changes nothing.
      const due = Math.floor(((performance.now() - startedAt) * callsPerSecond) / 1000);
      while (this.calls < due) this.send();
    }, 10);
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.pending);
  }

  private send(): void {
    this.calls++;
    const call = this.client.say({ deadlineMs: DEADLINE_MS }).then(
      (answer) => {
        const { server, client } = JSON.parse(answer) as ConnectionFacts;
        this.lastServer = server;
        this.handshakes.add(`${server} ${client ?? ''}`);
      },
      (error: Error) => void this.failures.push(error.message),
    );
    this.pending.add(call);
    void call.then(() => this.pending.delete(call));
  }
}

/** A mesh whose certificates and policy can be changed. */
class RotatingMesh {
  private readonly certificates = new TestCertificates();
  private readonly clientRoot = this.certificates.authority('client root');
  private readonly folder = mkdtempSync(join(tmpdir(), 'rotation-'));
  private readonly backends: TlsBackend[] = [];
  private readonly clients: EchoClient[] = [];
  private mesh: Mesh | undefined;

  async start(): Promise<void> {
    this.mesh = await Mesh.start();
    const file = (name: string) => join(this.folder, name);
    const config = {
      certificate_file: file('cert.pem'),
      private_key_file: file('key.pem'),
      ca_certificate_file: file('ca.pem'),
      refresh_interval: '1s',
    };
    const certificate_providers = { agent: { plugin_name: 'file_watcher', config } };
    registerAnew({ bootstrap: { ...bootstrapFor(this.mesh.address), certificate_providers } });
  }

  stop(): void {
    for (const client of this.clients) client.close();
    for (const backend of this.backends) backend.stop();
    this.mesh?.stop();
    this.certificates.close();
    rmSync(this.folder, { recursive: true });
  }

  authority(generation: number): TestCertificate {
    return this.certificates.authority(`root ${generation}`);
  }

  /** Writes an identity of the client, the key before the certificate, as the agent of Istio does. */
  writeIdentity(generation: number): void {
    const { certificateChain, privateKey } = this.clientRoot.sign(`client-${generation}`);
    this.write('key.pem', privateKey);
    this.write('cert.pem', certificateChain);
  }

  /** Writes the authorities of servers. */
  writeRoots(...roots: readonly TestCertificate[]): void {
    this.write('ca.pem', roots.map(({ certificate }) => certificate).join(''));
  }

  /** A server of a generation, which requires a certificate of clients. */
  async startServer(generation: number, root: TestCertificate): Promise<TlsBackend> {
    const certificate = root.sign(`server-${generation}`, { names: [`URI:${idOf(generation)}`] });
    const ca = [this.clientRoot.certificate];
    const backend = await TlsBackend.start(certificate, { requestCert: true, ca });
    this.backends.push(backend);
    return backend;
  }

  /** Serves endpoints, whose names must be one of these. */
  serve(backends: readonly TlsBackend[], ids: readonly string[]): void {
    const match_subject_alt_names = ids.map((exact) => ({ exact }));
    const transport_socket = mutualTlsSocket('agent', { match_subject_alt_names });
    const ports = backends.map(({ port }) => port);
    this.mesh?.serve({
      ...simpleResources([]),
      clusters: [edsClusterJson('echo', { transport_socket })],
      endpoints: [endpointsJson('echo', [{ zone: 'a', ports }])],
    });
  }

  connect(): EchoClient {
    const xds = createXdsChannelCredentials(credentials.createInsecure());
    const client = new EchoClient(`xds:///${SERVICE}`, {}, xds);
    this.clients.push(client);
    return client;
  }

  private write(name: string, text: string): void {
    const next = join(this.folder, 'next');
    writeFileSync(next, text, { mode: 0o600 });
    renameSync(next, join(this.folder, name));
  }
}

/**
 * Rotates the identity of the client, the authorities and the names of servers, each time both in use for a while, beside a
 * steady load. Then allows another name only, and the right one again.
 */
export async function rotate(options: RotationOptions): Promise<RotationReport> {
  const mesh = new RotatingMesh();
  await mesh.start();
  try {
    const root = mesh.authority(0);
    mesh.writeIdentity(0);
    mesh.writeRoots(root);
    const backend = await mesh.startServer(0, root);
    mesh.serve([backend], [idOf(0)]);
    const client = mesh.connect();
    await client.say();
    const load = new SteadyCalls(client, options.callsPerSecond);
    const last = await rotateUnderLoad(mesh, load, { root, backend, ...options });
    await load.stop();
    const { calls, failures, handshakes } = load;
    const revocation = await revoke(mesh, client, { backend: last, id: idOf(options.rotations) });
    return { calls, failures, handshakes: [...handshakes], ...revocation };
  } finally {
    mesh.stop();
  }
}

/** @returns the server of the last generation. */
async function rotateUnderLoad(
  mesh: RotatingMesh,
  load: SteadyCalls,
  start: { readonly root: TestCertificate; readonly backend: TlsBackend } & RotationOptions,
): Promise<TlsBackend> {
  let { root, backend } = start;
  for (let generation = 1; generation <= start.rotations; generation++) {
    const nextRoot = mesh.authority(generation);
    const next = await mesh.startServer(generation, nextRoot);
    // 1. The client has its next identity, and trusts both authorities, before there is a server of the next one.
    mesh.writeIdentity(generation);
    mesh.writeRoots(root, nextRoot);
    await untilUsed(mesh, generation);
    // 2. Both servers, by either name. 3. The next server alone, by its name and its authority alone.
    mesh.serve([backend, next], [idOf(generation - 1), idOf(generation)]);
    await untilAnswered(load, `CN=server-${generation}`);
    mesh.serve([next], [idOf(generation)]);
    mesh.writeRoots(nextRoot);
    await untilAnswered(load, `CN=server-${generation}`, 20);
    backend.stop();
    [root, backend] = [nextRoot, next];
  }
  return backend;
}

/** Waits until new connections present an identity. */
async function untilUsed(mesh: RotatingMesh, generation: number): Promise<void> {
  await eventually(
    async () => {
      const client = mesh.connect();
      const { client: subject } = JSON.parse(await client.say()) as ConnectionFacts;
      client.close();
      return subject;
    },
    (subject) => subject === `CN=client-${generation}`,
  );
}

/** Waits until a server answers, `times` in a row. */
async function untilAnswered(load: SteadyCalls, server: string, times = 1): Promise<void> {
  let inARow = 0;
  await eventually(
    () => (inARow = load.lastServer === server ? inARow + 1 : 0),
    (count) => count >= times,
  );
}

/** Allows another name, and after a while the name of the server again. */
async function revoke(
  mesh: RotatingMesh,
  client: EchoClient,
  { backend, id }: { readonly backend: TlsBackend; readonly id: string },
): Promise<Pick<RotationReport, 'revokedMs' | 'callsAfterRevocation' | 'isOldConnectionUsed'>> {
  const connectionOf = (answer: string) => (JSON.parse(answer) as ConnectionFacts).connection;
  const before = connectionOf(await client.say());
  const startedAt = performance.now();
  let revokedMs = 0;
  mesh.serve([backend], ['spiffe://mesh.test/revoked']);
  const say = () =>
    client.say({ deadlineMs: DEADLINE_MS }).then(
      () => true,
      () => false,
    );
  await eventually(
    async () => {
      const isAnswered = await say();
      if (isAnswered) revokedMs = performance.now() - startedAt;
      return isAnswered;
    },
    (isAnswered) => !isAnswered,
  );
  let callsAfterRevocation = 0;
  for (let i = 0; i < CALLS_AFTER_REVOCATION; i++) if (await say()) callsAfterRevocation++;
  mesh.serve([backend], [id]);
  const answer = await eventually(
    () => client.say().catch(() => ''),
    (text) => text !== '',
  );
  return { revokedMs, callsAfterRevocation, isOldConnectionUsed: connectionOf(answer) === before };
}
