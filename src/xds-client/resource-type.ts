import type { ServerConfig } from '../bootstrap/bootstrap';
import type { Result } from '../util/result';
import type { Steps } from '../util/steps';

/** The certificate provider instances of a bootstrap, by name (gRFC A29). */
export interface CertificateProviders {
  has(instanceName: string): boolean;
}

/** What a decoder may know besides the bytes. */
export interface DecodeContext<T> {
  /** The server the resource came from (`lrs_server.self`, `trusted_xds_server`). */
  readonly server: ServerConfig;
  /** Those of the bootstrap of the client. Default: none. */
  readonly certificateProviders?: CertificateProviders;
  /**
   * The last accepted value of the named resource, so that unchanged parts keep their identity.
   * `undefined` when nothing is cached under that name.
   */
  previous(name: string): T | undefined;
}

/** A decoded resource: its name, and its value or everything wrong with it. */
export interface Decoded<T> {
  /** `undefined` when the bytes were too broken to tell. */
  readonly name: string | undefined;
  /** Violations are `path: reason`, at least one. */
  readonly result: Result<T, readonly string[]>;
}

/** A discovery service. The names of its methods are `Stream` and `Delta` with the noun after it. */
export interface DiscoveryService {
  /** Full name, such as `envoy.service.listener.v3.ListenerDiscoveryService`. */
  readonly service: string;
  /** Such as `Listeners`. */
  readonly noun: string;
}

/** A bound on the elements that all resources of one management server have together. */
export interface ElementLimit {
  /** The limit that the application sets, such as `maxEndpoints`. */
  readonly name: string;
  /** What is counted, in the plural. */
  readonly noun: string;
  readonly max: number;
}

/** A kind of xDS resource, injected into the client as data: the client itself knows none. */
export interface ResourceType<T> {
  /** Full URL, such as `type.googleapis.com/envoy.config.listener.v3.Listener`. */
  readonly typeUrl: string;
  /** Short name for messages, such as `Listener`. */
  readonly typeName: string;
  /** Whether a resource left out of a state-of-the-world response is thereby deleted (LDS, CDS). */
  readonly allResourcesRequiredInSotw: boolean;
  /** Its own service. Default: there is none, and it can only be had from the aggregated one. */
  readonly discoveryService?: DiscoveryService | undefined;
  /** Reads the name alone, cheaply; used to compare bytes before anything is decoded. `undefined` if malformed. */
  peekName(bytes: Uint8Array): string | undefined;
  /**
   * Describes the parts of a valid resource that are not used, for the log; `undefined` if there are none.
   * Default: none.
   */
  describeSkipped?(value: T): string | undefined;
  /**
   * The limit that the elements of its resources count against. Types with the same object share it. Default: none.
   */
  readonly elementLimit?: ElementLimit | undefined;
  /** Counts the elements of a valid resource. Default: there are none. */
  countElements?(value: T): number;
  /** Decodes and validates one resource. Must not throw for bad input; if it does, that is a violation too. */
  decode(bytes: Uint8Array, context: DecodeContext<T>): Decoded<T>;
  /**
   * Does the same as `decode` in steps, so that a large resource does not block the process. Default: resources are
   * decoded in one step.
   */
  decodeInSteps?(bytes: Uint8Array, context: DecodeContext<T>): Steps<Decoded<T>>;
}
