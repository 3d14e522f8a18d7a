import type { status } from '@grpc/grpc-js';
import type { Json } from '../support/xds-json';

/** How a server is set up. */
export interface ServerSettings {
  /** Its certificate, with those that signed it. Default: `good`. */
  readonly certificate?: string;
  /** The names in its certificate, which `root` signed. Default: see `certificate`. */
  readonly names?: readonly string[];
  /** The certificates that it presents instead, the first of which has its key. */
  readonly chain?: readonly string[];
  /** Whether it demands a certificate of clients, signed by `root`. Default: no. */
  readonly demandsCertificate?: boolean;
  /** Default: TLS 1.2 and 1.3. */
  readonly versions?: readonly [lowest: TlsVersion, highest: TlsVersion];
  /** Default: `h2`; none for a server without ALPN. */
  readonly protocols?: readonly string[];
  /** Default: it speaks TLS to clients that do, and plain text to the others. */
  readonly manner?: ServerManner;
}

export type TlsVersion = 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';

/** A server that does not do as it should. */
export type ServerManner =
  /** It speaks no TLS. */
  | 'plain'
  /** It accepts connections, and sends nothing. */
  | 'silent'
  /** It closes connections once it has received something. */
  | 'closing'
  /** It sends nothing after the handshake. */
  | 'no settings'
  /** It answers whatever comes with HTTP/1.1 text. */
  | 'http/1.1'
  /** As a proxy, it refuses CONNECT with status 403. */
  | 'refusing proxy'
  /** As a proxy, it does not answer CONNECT. */
  | 'silent proxy';

/** The channel credentials of the application. `xds+x` is `createXdsChannelCredentials(x)`. */
export type CredentialsKind =
  | 'insecure'
  | 'tls'
  | 'tls other'
  | 'xds+insecure'
  | 'xds+tls'
  | 'xds+tls other'
  | 'xds+xds+insecure'
  | 'subclass+insecure'
  | 'equal subclass+insecure'
  | 'wrapper+insecure'
  | 'second copy+insecure'
  | 'second copy+tls';

/** Where a bearer token comes from. */
export type TokenPlace = 'channel' | 'call' | 'fallback';

/** What must become of a call. */
export type Expectation =
  | {
      readonly kind: 'tls';
      /** The server name that is sent. Default: none. */
      readonly serverName?: string;
      readonly version?: TlsVersion;
      /** The common name in the certificate of the client; `null` for none. Default: not looked at. */
      readonly client?: string | null;
      /** Whether it comes through CONNECT. */
      readonly isTunnelled?: boolean;
      readonly connection?: 'new' | 'same';
      readonly hasToken?: boolean;
    }
  | { readonly kind: 'plain'; readonly isTunnelled?: boolean }
  | {
      readonly kind: 'fails';
      /** A part of the details. */
      readonly text: string | RegExp;
      /** Default: UNAVAILABLE. */
      readonly code?: status;
      /** Whether there may be a connection in plain text, by which nothing of the call is sent. Default: no. */
      readonly isConnected?: boolean;
    };

/** What a cluster and its endpoint are like. */
export interface ClusterSettings {
  /** Its UpstreamTlsContext in proto3 JSON. Default: it has no transport_socket. */
  readonly tls?: Json;
  /** Its transport_socket, instead. */
  readonly socket?: Json;
  /** Of the endpoint. Default: none. */
  readonly hostname?: string;
  /** Whether the endpoint is behind an HTTP proxy by gRFC A86, which is the same server. */
  readonly isProxied?: boolean;
  /** The further services of the case that use the same endpoint, by the UpstreamTlsContext of their clusters. */
  readonly others?: readonly (Json | undefined)[];
}

/** The files of a provider instance by name. */
export type OwnFiles = Readonly<Record<string, FileContent>>;
export type FileContent =
  | { readonly kind: 'certificates'; readonly names: readonly string[] }
  /** The first half of the last one after the others. */
  | { readonly kind: 'half'; readonly names: readonly string[] }
  /** The same, with a wrong byte in the middle of the last one. */
  | { readonly kind: 'damaged'; readonly names: readonly string[] }
  /** The authorities of td.test, beside keys for JWT. */
  | { readonly kind: 'jwt bundles'; readonly names: readonly string[] }
  /** Those of td.test, each for this use. */
  | { readonly kind: 'bundles of use'; readonly use?: string; readonly names: readonly string[] }
  /** Those of td.test as one key. */
  | { readonly kind: 'two in a key'; readonly names: readonly string[] }
  | { readonly kind: 'chain' | 'key'; readonly name: string }
  | { readonly kind: 'bundles'; readonly domains: TrustDomains }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'directory' };

/** The authorities of each trust domain. */
export type TrustDomains = Readonly<Record<string, readonly string[]>>;

/** Something that happens in a case with several calls. */
export type Step =
  /** Calls until the outcome is this, for 15 s at most. */
  | {
      readonly do: 'expect';
      readonly expected: Expectation;
      /** Of `others`, counted from 1; 0 is the first. Default: 0. */
      readonly service?: number;
      /** How connections are ended before each call. Default: they are not. */
      readonly reconnect?: 'disconnect' | 'drain';
    }
  | { readonly do: 'cluster'; readonly cluster: ClusterSettings }
  | { readonly do: 'server'; readonly server: ServerSettings }
  | { readonly do: 'files'; readonly files: OwnFiles }
  /** Replaces all files at once, as Kubernetes does: `..data` becomes a link to another directory. */
  | { readonly do: 'swap'; readonly files: OwnFiles }
  /** Ends all connections at once. */
  | { readonly do: 'disconnect' };

/** One row of the matrix. */
export interface TlsCase extends ClusterSettings {
  readonly group: string;
  /** Unique in its group. */
  readonly name: string;
  readonly server?: ServerSettings;
  /** Default: `xds+insecure`. */
  readonly credentials?: CredentialsKind;
  /** Default: no token. */
  readonly token?: TokenPlace;
  /** Variables of the process; `{port}` is that of the server. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The files of the provider instance `own` at the start. */
  readonly files?: OwnFiles;
  /** Whether `own` is a directory as Kubernetes mounts it. */
  readonly isMounted?: boolean;
  /** A line that must be logged, in part. */
  readonly logged?: string;
  /** Whether it takes as long as a time limit of 20 s. */
  readonly isSlow?: boolean;
  /** Whether calls are made all the time, none of which may fail. */
  readonly isUnderLoad?: boolean;
  /** What becomes of the first call. */
  readonly expected: Expectation;
  /** What happens then. */
  readonly steps?: readonly Step[];
}
