import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { ControlPlane, Snapshot, type ControlPlaneOptions } from '../../src/control-plane';
import type { Finding } from '../../packages/cli/src/client';
import { EchoBackend } from '../support/echo-backend';
import { freePort } from '../support/free-port';
import { bootstrapFor, SERVICE, simpleResources, type MeshResources } from '../support/mesh';
import { SilentServer } from '../support/silent-server';
import type { Json } from '../support/xds-json';
import { FakeIo } from './fake-io';

/** What `doctor` printed. */
export interface Diagnosis {
  readonly code: number;
  readonly findings: readonly Finding[];
}

/** A machine with everything that `doctor` examines: a folder, a control plane, backends and other servers. */
export class DoctorWorld {
  readonly io = new FakeIo();
  readonly folder = mkdtempSync(join(tmpdir(), 'cli-doctor-'));
  private readonly stops: (() => unknown)[] = [];

  constructor() {
    this.io.folder = this.folder;
  }

  /** Writes a file. @returns its path. */
  write(name: string, content: string | object): string {
    const path = join(this.folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  }

  /** Starts a control plane. @returns its address. */
  async serve(
    resources: Partial<MeshResources>,
    options: ControlPlaneOptions = {},
  ): Promise<string> {
    return this.serveSnapshot(Snapshot.from(resources), options);
  }

  /** Starts a control plane for everything of a snapshot. @returns its address. */
  async serveSnapshot(snapshot: Snapshot, options: ControlPlaneOptions = {}): Promise<string> {
    const controlPlane = new ControlPlane(options);
    controlPlane.setSnapshot(snapshot, { allowInconsistent: true });
    const { address } = await controlPlane.start();
    this.stops.push(() => controlPlane.close());
    return address;
  }

  /** Starts a control plane and a backend that work. @returns the address of the control plane. */
  async serveAll(change: (resources: MeshResources) => Partial<MeshResources> = (all) => all) {
    const backend = await this.backend();
    return this.serve(change(simpleResources([backend.port])), { loadReporting: {} });
  }

  /** Starts a backend, which is also a gRPC server without ADS. */
  async backend(): Promise<EchoBackend> {
    const backend = await EchoBackend.start('a');
    this.stops.push(() => backend.stop());
    return backend;
  }

  /** Starts a server that accepts connections and never answers. @returns its address. */
  async silentServer(): Promise<string> {
    const server = new SilentServer();
    this.stops.push(() => server.close());
    return `127.0.0.1:${await server.listen()}`;
  }

  /** Starts a TLS server that does not answer after the handshake. @returns its address. */
  async tlsServer(options: TlsOptions): Promise<string> {
    const server = createTlsServer(options, (socket) => socket.on('error', () => {}));
    server.on('tlsClientError', () => {});
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.stops.push(() => server.close());
    return `127.0.0.1:${portOf(server.address())}`;
  }

  /** Returns an address at which nothing listens. */
  async freeAddress(): Promise<string> {
    return `127.0.0.1:${await freePort()}`;
  }

  /** Writes the bootstrap for one server. @returns its path. */
  bootstrap(serverUri: string, change: (bootstrap: Json) => Json = (all) => all): string {
    return this.write('bootstrap.json', change({ ...bootstrapFor(serverUri) }));
  }

  /** Runs the command. */
  async run(...args: readonly string[]): Promise<Diagnosis> {
    this.io.out.length = 0;
    const code = await this.io.run('doctor', '--json', ...args);
    const result: unknown = JSON.parse(this.io.out.join('\n'));
    const isResult = typeof result === 'object' && result !== null && 'findings' in result;
    return { code, findings: isResult ? (result.findings as readonly Finding[]) : [] };
  }

  /** Runs the command for the usual target. */
  check(bootstrapPath: string, ...args: readonly string[]): Promise<Diagnosis> {
    return this.run(bootstrapPath, '--target', `xds:///${SERVICE}`, ...args);
  }

  async close(): Promise<void> {
    for (const stop of this.stops) await stop();
    rmSync(this.folder, { recursive: true });
  }
}

function portOf(address: AddressInfo | string | null): number {
  return typeof address === 'object' && address !== null ? address.port : 0;
}
