import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerHttp2Stream } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { status } from '@grpc/grpc-js';
import { ControlPlane, Snapshot } from '../../src/control-plane';
import { bootstrapFor, type MeshResources } from '../support/mesh';
import { ScriptedControlPlane } from '../support/scripted-control-plane';
import { RawBackend } from '../support/raw-backend';
import { SilentServer } from '../support/silent-server';
import { SlowLookups } from '../support/slow-lookups';
import { SlowServer } from '../support/slow-server';
import { TestCertificates, type CertificateOptions } from '../support/test-certificates';
import { TlsBackend } from '../support/tls-backend';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
  type Json,
} from '../support/xds-json';

/** The servers of one failure, and the names in it: each failure has its own, by which the log tells them apart. */
export class World {
  private readonly stops: (() => unknown)[] = [];

  /** @param service The path of the target. */
  constructor(readonly service: string) {}

  get cluster(): string {
    return `${this.service}-cluster`;
  }

  get routes(): string {
    return `${this.service}-routes`;
  }

  /** Resources of the target with one cluster, and endpoints at the ports. */
  resources(ports: readonly number[], routeExtra: Json = {}): MeshResources {
    const { service, cluster, routes } = this;
    return {
      listeners: [listenerJson(service, routes)],
      routes: [routeConfigJson(routes, [routeToCluster(cluster, routeExtra)])],
      clusters: [edsClusterJson(cluster)],
      endpoints: [endpointsJson(cluster, [{ zone: 'a', ports }])],
    };
  }

  /** Starts a control plane with such resources. @returns a bootstrap for it. */
  async serve(resources: MeshResources): Promise<Json> {
    const controlPlane = new ControlPlane({});
    const { port } = await controlPlane.start();
    this.stops.push(() => controlPlane.kill());
    controlPlane.setSnapshot(Snapshot.from(resources), { allowInconsistent: true });
    // Not the incremental variant, in which the server says at once what it does not have.
    return { ...bootstrapFor(`127.0.0.1:${port}`, []) };
  }

  /** Starts a server that accepts connections and says nothing. @returns its port. */
  async silentPort(): Promise<number> {
    const silent = new SilentServer();
    this.stops.push(() => silent.close());
    return silent.listen();
  }

  /** Starts a backend that does not answer. @returns its port. */
  async slowPort(): Promise<number> {
    const slow = new SlowServer();
    await slow.start();
    this.stops.push(() => slow.stop());
    return slow.port;
  }

  /** Starts a server whose streams are handled by a function. @returns its port. */
  async rawPort(onStream: (stream: ServerHttp2Stream) => void): Promise<number> {
    const backend = new RawBackend(onStream);
    this.stops.push(() => backend.close());
    return backend.listen();
  }

  /**
   * Starts a server with TLS. @returns its port, and the file of the authority that clients are to trust.
   * @param isOfOtherAuthority Whether its certificate is signed by another one.
   */
  async tlsPort({
    options,
    isOfOtherAuthority = false,
  }: {
    readonly options: CertificateOptions;
    readonly isOfOtherAuthority?: boolean;
  }): Promise<{ readonly port: number; readonly caFile: string }> {
    const certificates = new TestCertificates();
    const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-failures-'));
    this.stops.push(
      () => certificates.close(),
      () => rmSync(folder, { recursive: true }),
    );
    const trusted = certificates.authority('trusted');
    const issuer = isOfOtherAuthority ? certificates.authority('other') : trusted;
    const caFile = join(folder, 'ca.pem');
    writeFileSync(caFile, trusted.certificate);
    const backend = await TlsBackend.start(issuer.sign('server', options));
    this.stops.push(() => backend.stop());
    return { port: backend.port, caFile };
  }

  /** Returns a port that refuses connections. */
  async closedPort(): Promise<number> {
    const silent = new SilentServer();
    const port = await silent.listen();
    silent.close();
    return port;
  }

  /** Starts a management server that accepts streams and does not answer. @returns a bootstrap for it. */
  async mute(): Promise<Json> {
    const server = new ScriptedControlPlane();
    this.stops.push(() => server.stop());
    return { ...bootstrapFor(await server.start(), []) };
  }

  /** Starts a management server that ends every stream. @returns a bootstrap for it. */
  async refusing(code: status, details: string): Promise<Json> {
    const server = new ScriptedControlPlane({ onStream: (stream) => stream.fail(code, details) });
    this.stops.push(() => server.stop());
    return { ...bootstrapFor(await server.start(), []) };
  }

  /** Makes the resolver not answer for one host name. */
  slowLookups(): void {
    const lookups = new SlowLookups();
    this.stops.push(() => lookups.release());
  }

  async stop(): Promise<void> {
    for (const stop of this.stops.splice(0)) await stop();
  }
}
