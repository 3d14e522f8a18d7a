import { Server, ServerCredentials, status, type ServerDuplexStream } from '@grpc/grpc-js';
import {
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
  DiscoveryRequest,
  DiscoveryResponse,
} from '../../src/wire/generated/envoy/service/discovery/v3/discovery';
import { Secret } from '../../src/wire/generated/envoy/extensions/transport_sockets/tls/v3/secret';
import type { Node } from '../../src/wire/generated/envoy/config/core/v3/base';
import type { Identity } from '../../src/security/providers/certificate-provider';
import { bind } from './listen';
import { bytesCodec } from './bytes-codec';

const SERVICE = '/envoy.service.secret.v3.SecretDiscoveryService';
const TYPE_URL = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret';

/** A request as a server sees it. */
export interface SdsRequest {
  readonly method: 'StreamSecrets' | 'DeltaSecrets';
  /** Counts the streams from 1 on. */
  readonly stream: number;
  /** Those that are requested, or, on an incremental stream, added. */
  readonly names: readonly string[];
  readonly version: string;
  readonly nonce: string;
  /** Why a response was rejected. */
  readonly error: string | undefined;
  readonly node: Node | undefined;
}

type Contents = Parameters<typeof Secret.create>[0];

/** A secret that is a certificate with its key, as bytes. */
export function identitySecret({ certificateChain, privateKey }: Identity): Contents {
  const inline = (pem: string) => ({
    specifier: { $case: 'inlineBytes' as const, value: Buffer.from(pem) },
  });
  const value = { certificateChain: inline(certificateChain), privateKey: inline(privateKey) };
  return { type: { $case: 'tlsCertificate', value } };
}

/** A secret that has authorities, as text. */
export function rootsSecret(pem: string): Contents {
  const trustedCa = { specifier: { $case: 'inlineString' as const, value: pem } };
  return { type: { $case: 'validationContext', value: { trustedCa } } };
}

interface Variant {
  /** Adds the names of a request. @returns whether to respond. */
  onRequest(bytes: Buffer): boolean;
  /** Encodes a response with what is requested of these secrets; `undefined` if that is nothing. */
  respond(names: ReadonlySet<string>): Buffer | undefined;
}

/** How a server behaves. */
export interface SdsServerOptions {
  /**
   * How it treats names that it has no secret for: it reports them, which only the incremental variant can, waits for the
   * secret, or ends the stream, as the agent of SPIRE does. Default: `report`.
   */
  readonly missing?: 'report' | 'wait' | 'refuse';
  /** Whether it has the incremental variant. Default: yes. */
  readonly hasDelta?: boolean;
}

/**
 * A secret discovery server over real gRPC, in both variants of the protocol. State of the world has the secrets that
 * changed, as the agents of SPIRE and Istio send them.
 */
export class SdsServer {
  readonly requests: SdsRequest[] = [];
  private readonly secrets = new Map<
    string,
    { readonly bytes: Buffer; readonly version: string }
  >();
  private readonly peers = new Set<string>();
  private readonly streams = new Set<(changed: string) => void>();
  private server: Server | undefined;
  private version = 0;
  private streamCount = 0;

  constructor(private readonly options: SdsServerOptions = {}) {}

  /** How many connections had a stream. */
  get connections(): number {
    return this.peers.size;
  }

  /** How many streams are open. */
  get openStreams(): number {
    return this.streams.size;
  }

  /** Listens. @param address Such as `127.0.0.1:0` or `unix:/path`. @returns the URI of the server. */
  async start(address = '127.0.0.1:0'): Promise<string> {
    const server = new Server();
    const method = (name: SdsRequest['method'], create: (stream: number) => Variant) => ({
      definition: {
        path: `${SERVICE}/${name}`,
        ...({ requestStream: true, responseStream: true } as const),
        ...bytesCodec,
      },
      accept: (call: ServerDuplexStream<Buffer, Buffer>) =>
        this.accept(call, create(++this.streamCount)),
    });
    const stream = method('StreamSecrets', (number) => this.stateOfTheWorld(number));
    const delta = method('DeltaSecrets', (number) => this.incremental(number));
    server.addService({ stream: stream.definition }, { stream: stream.accept });
    if (this.options.hasDelta !== false) {
      server.addService({ delta: delta.definition }, { delta: delta.accept });
    }
    this.server = server;
    const port = await bind(server, ServerCredentials.createInsecure(), address);
    return address.startsWith('unix:') ? address : `127.0.0.1:${port}`;
  }

  /** Drops all connections. */
  stop(): void {
    this.server?.forceShutdown();
    this.server = undefined;
  }

  /** Sends a secret to those that have requested it, now or later. */
  set(name: string, contents: Contents): void {
    this.setBytes(name, Buffer.from(Secret.encode(Secret.create({ ...contents, name })).finish()));
  }

  /** Sends bytes in place of a secret. */
  setBytes(name: string, bytes: Buffer): void {
    this.secrets.set(name, { bytes, version: `v${++this.version}` });
    for (const send of this.streams) send(name);
  }

  /** Removes a secret. */
  remove(name: string): void {
    this.secrets.delete(name);
    for (const send of this.streams) send(name);
  }

  /** Why responses were rejected. */
  nacks(): readonly string[] {
    return this.requests.flatMap(({ error }) => error ?? []);
  }

  private accept(call: ServerDuplexStream<Buffer, Buffer>, variant: Variant): void {
    this.peers.add(call.getPeer());
    const requested = new Set<string>();
    const write = (names: ReadonlySet<string>) => {
      const response = variant.respond(names);
      if (response !== undefined) call.write(response);
      else if (this.options.missing === 'refuse') {
        const details = `workload is not authorized for the requested identities ${JSON.stringify([...names])}`;
        call.emit('error', { code: status.INVALID_ARGUMENT, details });
      }
    };
    const send = (changed: string) => requested.has(changed) && write(new Set([changed]));
    this.streams.add(send);
    call.on('data', (bytes: Buffer) => {
      if (!variant.onRequest(bytes)) return;
      for (const name of this.requests.at(-1)?.names ?? []) requested.add(name);
      write(requested);
    });
    call.on('end', () => call.end());
    call.on('close', () => this.streams.delete(send));
    call.on('cancelled', () => this.streams.delete(send));
    call.on('error', () => this.streams.delete(send));
  }

  private stateOfTheWorld(stream: number): Variant {
    const known = new Set<string>();
    let nonce = 0;
    return {
      onRequest: (bytes) => {
        const message = DiscoveryRequest.decode(bytes);
        const { resourceNames: names, versionInfo: version } = message;
        this.record({ method: 'StreamSecrets', stream, names, version }, message);
        if (nonce > 0 && message.responseNonce !== String(nonce)) return false;
        const isNew = names.some((name) => !known.has(name));
        for (const name of names) known.add(name);
        return isNew;
      },
      respond: (names) => {
        const resources = this.present(names).map(({ resource }) => resource);
        if (resources.length === 0) return undefined;
        const versionInfo = `v${this.version}`;
        const response = { resources, versionInfo, typeUrl: TYPE_URL, nonce: String(++nonce) };
        return Buffer.from(DiscoveryResponse.encode(DiscoveryResponse.create(response)).finish());
      },
    };
  }

  private incremental(stream: number): Variant {
    let nonce = 0;
    return {
      onRequest: (bytes) => {
        const message = DeltaDiscoveryRequest.decode(bytes);
        const { resourceNamesSubscribe: names } = message;
        this.record({ method: 'DeltaSecrets', stream, names, version: '' }, message);
        return names.length > 0;
      },
      respond: (names) => {
        const resources = this.present(names);
        const isReported = (this.options.missing ?? 'report') === 'report';
        if (resources.length === 0 && !isReported) return undefined;
        const removedResources = [...names].filter((name) => !this.secrets.has(name));
        const message = DeltaDiscoveryResponse.create({
          resources,
          removedResources,
          typeUrl: TYPE_URL,
          nonce: String(++nonce),
        });
        return Buffer.from(DeltaDiscoveryResponse.encode(message).finish());
      },
    };
  }

  private record(
    request: Pick<SdsRequest, 'method' | 'stream' | 'names' | 'version'>,
    { responseNonce, errorDetail, node }: DiscoveryRequest | DeltaDiscoveryRequest,
  ): void {
    this.requests.push({ ...request, nonce: responseNonce, error: errorDetail?.message, node });
  }

  private present(names: ReadonlySet<string>) {
    return [...names].flatMap((name) => {
      const secret = this.secrets.get(name);
      if (secret === undefined) return [];
      const { bytes: value, version } = secret;
      return { name, version, resource: { typeUrl: TYPE_URL, value } };
    });
  }
}
