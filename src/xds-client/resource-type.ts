import type { ServerConfig } from '../bootstrap/bootstrap';
import type { ReadBudget } from '../util/read-budget';

/** The certificate provider instances of a bootstrap, by name (gRFC A29). */
export interface CertificateProviders {
  has(instanceName: string): boolean;
}

/** A valid resource as its decoder returns it. */
export interface DecodedValue<T> {
  readonly value: T;
  /**
   * What the decoder keeps of this version to compare the next one with. Opaque to the client, which stores it with the
   * value. Default: nothing.
   */
  readonly record?: object | undefined;
  /** How many fields were read to decode it. Default: unknown. */
  readonly fields?: number | undefined;
  /** Whether only what changed was decoded, and the rest is that of the previous version. Default: no. */
  readonly isPartial?: boolean;
}

/** The version of a resource that its next one is compared with. */
export type PreviousVersion<T> = Pick<DecodedValue<T>, 'value' | 'record'>;

/** What a decoder receives besides the bytes. */
export interface DecodeContext<T> {
  /** The server the resource came from (`lrs_server.self`, `trusted_xds_server`). */
  readonly server: ServerConfig;
  /** The certificate providers of the bootstrap of the client. Default: none. */
  readonly certificateProviders?: CertificateProviders;
  /**
   * Returns the last accepted version of the named resource, from which unchanged parts are taken, with their identity.
   * `undefined` when nothing is cached under that name.
   */
  previous(name: string): PreviousVersion<T> | undefined;
  /** How many fields the resources of the response may still have. Default: each has its own limit only. */
  readonly budget?: ReadBudget | undefined;
}

/** A valid resource, or everything wrong with it: violations are `path: reason`, at least one. */
export type DecodeResult<T> =
  | ({ readonly ok: true } & DecodedValue<T>)
  | { readonly ok: false; readonly error: readonly string[] };

/** A decoded resource. */
export interface Decoded<T> {
  /** `undefined` if the bytes are too broken to read it. */
  readonly name: string | undefined;
  readonly result: DecodeResult<T>;
}

/** A large resource that is being decoded, part by part, so that it does not block the process. */
export interface UnfinishedDecoding<T> {
  /** Decodes the next part, in a fraction of a millisecond. @returns the resource after the last part. */
  next(): Decoded<T> | undefined;
}

/** A decoded resource, or a large one that is being decoded. */
export type Decoding<T> = Decoded<T> | UnfinishedDecoding<T>;

/** Whether a resource is not decoded yet. */
export function isUnfinished<T>(decoding: Decoding<T>): decoding is UnfinishedDecoding<T> {
  return 'next' in decoding;
}

/** Decodes a resource at once, however large it is. */
export function decodeWhole<T>(
  type: Pick<ResourceType<T>, 'decode'>,
  bytes: Uint8Array,
  context: DecodeContext<T>,
): Decoded<T> {
  const decoding = type.decode(bytes, context);
  if (!isUnfinished(decoding)) return decoding;
  for (;;) {
    const decoded = decoding.next();
    if (decoded !== undefined) return decoded;
  }
}

/** A discovery service. The names of its methods are `Stream` and `Delta` with the noun after it. */
export interface DiscoveryService {
  /** Full name, such as `envoy.service.listener.v3.ListenerDiscoveryService`. */
  readonly service: string;
  /** Such as `Listeners`. */
  readonly noun: string;
}

/** A bound on the elements that all resources of the process have together. */
export interface ElementLimit {
  /** The limit that the application sets, such as `maxEndpoints`; `undefined` if it is fixed. */
  readonly name: string | undefined;
  /** What is counted, in the plural. */
  readonly noun: string;
  readonly max: number;
}

/** Describes the bound, as the end of a sentence. */
export function describeElementLimit({ name, max }: ElementLimit): string {
  return name === undefined ? `exceed the limit of ${max}` : `exceed the limit ${name} of ${max}`;
}

/**
 * A kind of xDS resource, injected into the client as data: the client itself knows none.
 * `T` is the type of its values. A type that needs less starts from {@link RESOURCE_TYPE_DEFAULTS}.
 */
export interface ResourceType<T> {
  /** Full URL, such as `type.googleapis.com/envoy.config.listener.v3.Listener`. */
  readonly typeUrl: string;
  /** Short name for messages, such as `Listener`. */
  readonly typeName: string;
  /** Whether a resource left out of a state-of-the-world response is thereby deleted (LDS, CDS). */
  readonly allResourcesRequiredInSotw: boolean;
  /** Its own service; `undefined` if only the aggregated service has it. */
  readonly discoveryService: DiscoveryService | undefined;
  /** The limit that the elements of its resources count against; `undefined` for none. Types with the same object share it. */
  readonly elementLimit: ElementLimit | undefined;
  /** Reads the name alone, cheaply; used to compare bytes before anything is decoded. `undefined` if malformed. */
  peekName(bytes: Uint8Array): string | undefined;
  /** Describes the parts of a valid resource that are not used, for the log; `undefined` if there are none. */
  describeSkipped(value: T): string | undefined;
  /**
   * Describes the fields that a valid resource sets and this client does not use, such as
   * `virtual_hosts[0].routes[2].route.request_mirror_policies`. Takes time in proportion to the bytes.
   */
  describeUnusedFields(bytes: Uint8Array): readonly string[];
  /** Describes in a few words how a resource changed, for the trace and the history; an empty text if that is not known. */
  describeChange(before: T, after: T): string;
  /**
   * Counts the elements of a valid resource.
   * @param fields See `DecodedValue`; 0 if they are not known.
   */
  countElements(value: T, fields: number): number;
  /**
   * Decodes and validates one resource; see {@link decodeWhole}. Must not throw for bad input; if it does, that is a violation
   * too.
   */
  decode(bytes: Uint8Array, context: DecodeContext<T>): Decoding<T>;
}

/** The members of a resource type with nothing to describe or to count. */
export const RESOURCE_TYPE_DEFAULTS = {
  discoveryService: undefined,
  elementLimit: undefined,
  describeSkipped: () => undefined,
  describeUnusedFields: () => [],
  describeChange: () => '',
  countElements: () => 0,
} as const satisfies Partial<ResourceType<unknown>>;
