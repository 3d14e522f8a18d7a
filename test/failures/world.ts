import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerHttp2Stream } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, ServerCredentials, type ServerDuplexStream, type status } from '@grpc/grpc-js';
import { ControlPlane, Snapshot } from '../../src/control-plane';
import { XdsServer, XdsServerCredentials } from '../../src/server';
import { bytesCodec } from '../support/bytes-codec';
import { echoMethod } from '../support/echo-backend';
import { bind } from '../support/listen';
import { bootstrapFor, type MeshResources } from '../support/mesh';
import { RawBackend } from '../support/raw-backend';
import { SilentServer } from '../support/silent-server';
import { SlowLookups } from '../support/slow-lookups';
import { SlowServer } from '../support/slow-server';
import {
  TestCertificates,
  type CertificateOptions,
  type TestCertificate,
} from '../support/test-certificates';
import { TlsBackend } from '../support/tls-backend';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
  type Json,
} from '../support/xds-json';

type AdsStream = ServerDuplexStream<Buffer, Buffer>;

const ADS = {
  path: '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources',
  requestStream: true,
  responseStream: true,
  ...bytesCodec,
} as const;

/** The servers of one failure, and the names in it: each failure has its own, by which the log tells them apart. */
export class World {
  private readonly stops: (() => unknown)[] = [];
  private serverAddress = '';

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
    this.stops.push(() => void controlPlane.close({ force: true }));
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
    const { certificates, issuer: trusted, caFile } = this.startAuthority();
    const issuer = isOfOtherAuthority ? certificates.authority('other') : trusted;
    const backend = await TlsBackend.start(issuer.sign('server', options));
    this.stops.push(() => backend.stop());
    return { port: backend.port, caFile };
  }

  /** Chooses the address of the xDS server. */
  async reserveServer(): Promise<{ readonly address: string; readonly port: number }> {
    const port = await this.closedPort();
    this.serverAddress = `127.0.0.1:${port}`;
    return { address: this.serverAddress, port };
  }

  /** Binds the xDS server. The promise is fulfilled with its first state, be it served or not. */
  bindServer(): Promise<void> {
    return new Promise((resolve) => {
      const server = new XdsServer({ onServingState: () => resolve() });
      this.stops.push(() => server.forceShutdown());
      const say = (_call: unknown, callback: (error: null, answer: Buffer) => void): void =>
        callback(null, Buffer.from('ok'));
      server.addService({ say: echoMethod }, { say });
      const fallback = ServerCredentials.createInsecure();
      // It is not called for an address that is never served.
      server.bindAsync(this.serverAddress, new XdsServerCredentials(fallback), () => undefined);
    });
  }

  /** Returns the instance `default` with an identity, and `roots` with the authority alone. */
  certificateProviders(): Json {
    const { issuer, caFile: ca_certificate_file, folder } = this.startAuthority();
    const identity = issuer.sign('server', { names: ['IP:127.0.0.1'] });
    const certificate_file = join(folder, 'tls.crt');
    const private_key_file = join(folder, 'tls.key');
    writeFileSync(certificate_file, identity.certificateChain);
    writeFileSync(private_key_file, identity.privateKey);
    const plugin_name = 'file_watcher';
    return {
      default: { plugin_name, config: { certificate_file, private_key_file, ca_certificate_file } },
      roots: { plugin_name, config: { ca_certificate_file } },
    };
  }

  /** Returns a port that refuses connections. */
  async closedPort(): Promise<number> {
    const silent = new SilentServer();
    const port = await silent.listen();
    silent.close();
    return port;
  }

  /** Starts a management server that accepts streams and does not answer. @returns a bootstrap for it. */
  mute(): Promise<Json> {
    return this.manage(() => undefined);
  }

  /** Starts a management server that ends every stream. @returns a bootstrap for it. */
  refusing(code: status, details: string): Promise<Json> {
    return this.manage((stream) => void stream.emit('error', { code, details }));
  }

  private async manage(onStream: (stream: AdsStream) => void): Promise<Json> {
    const server = new Server();
    const ads = (stream: AdsStream) => onStream(stream.on('error', () => undefined).resume());
    server.addService({ ads: ADS }, { ads });
    this.stops.push(() => server.forceShutdown());
    return { ...bootstrapFor(`127.0.0.1:${await bind(server)}`, []) };
  }

  /** Makes the resolver not answer for one host name. */
  slowLookups(): void {
    const lookups = new SlowLookups();
    this.stops.push(() => lookups.release());
  }

  /** Makes a certificate authority, with its certificate in a file. */
  private startAuthority(): {
    readonly certificates: TestCertificates;
    readonly issuer: TestCertificate;
    readonly folder: string;
    readonly caFile: string;
  } {
    const certificates = new TestCertificates();
    const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-failures-'));
    this.stops.push(
      () => certificates.close(),
      () => rmSync(folder, { recursive: true }),
    );
    const issuer = certificates.authority('trusted');
    const caFile = join(folder, 'ca.pem');
    writeFileSync(caFile, issuer.certificate);
    return { certificates, issuer, folder, caFile };
  }

  async stop(): Promise<void> {
    for (const stop of this.stops.splice(0)) await stop();
  }
}
