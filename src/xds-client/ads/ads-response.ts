import {
  DeltaDiscoveryResponse,
  DiscoveryResponse,
  Resource,
  type ResourceError,
} from '../../wire/generated/envoy/service/discovery/v3/discovery';
import { Any } from '../../wire/generated/google/protobuf/any';
import { EncodedElements, splitMessage } from '../../wire/protobuf/encoded-elements';
import { FieldScanner } from '../../wire/protobuf/field-scanner';
import { asBuffer } from '../../util/bytes';
import { errorMessage } from '../../util/errors';
import { MAX_TEXT_BYTES, ReadBudget, ReadLimitError } from '../../util/read-budget';
import { err, ok, type Result } from '../../util/result';
import {
  ENVELOPE_LIMIT,
  MAX_TTL_MS,
  MAX_VERSION_LENGTH,
  RESPONSE_FIELDS_LIMIT,
  WRAPPER_LIMIT,
} from '../limits';

/** One resource of a response, taken out of its wrapper. */
export interface ResponseItem {
  /** The name beside the resource; `undefined` if there is none, so that the name in the resource applies. */
  readonly name: string | undefined;
  /** Other names that the resource may have been requested by. */
  readonly aliases: readonly string[];
  readonly version: string;
  /** `undefined` in a heartbeat, which renews the time to live of the resource received before. */
  readonly resource: Any | undefined;
  /** Milliseconds after which the resource expires unless it is renewed; `undefined`: never. */
  readonly ttlMs: number | undefined;
  /** Why it cannot be taken out of its wrapper. */
  readonly problem: string | undefined;
}

/** The resources of a response, each of which is taken out when it is read: most are those of the response before. */
export interface ResponseItems extends Pick<EncodedElements, 'length' | 'consistsOf'> {
  at(index: number): ResponseItem;
}

/** A response of either variant of the protocol. Its resources are not decoded. */
export interface AdsResponse {
  readonly typeUrl: string;
  /** Whether the type was requested on the stream. */
  readonly isRequested: boolean;
  readonly nonce: string;
  /** The version of the response as a whole; in the incremental variant it is for diagnostics only. */
  readonly version: string;
  readonly items: ResponseItems;
  /** Names of resources that do not exist. */
  readonly removed: readonly string[];
  readonly errors: readonly ResourceError[];
  /** The `control_plane.identifier`. */
  readonly controlPlane?: string | undefined;
  /** Whether it has, of a type whose responses are complete, every resource that was requested and exists. */
  readonly isComplete: boolean;
  /** Why it is rejected as a whole, and nothing but its type and its nonce was read; `undefined` if it is not. */
  readonly problem?: string | undefined;
}

/** The numbers of fields in the responses of both variants. */
const RESOURCES = 2;
const TYPE_URL = 4;
const NONCE = 5;

/** Follows the name of the server: the response cannot be answered. */
const NONCE_PROBLEM = `sent a response whose nonce has more than ${MAX_VERSION_LENGTH} characters`;

/** A parsed response, or why the stream must end, to follow the name of the server. */
export type ParsedResponse = Result<AdsResponse, string>;

/** Whether a type was requested on the stream. */
type IsRequested = (typeUrl: string) => boolean;

/** Parses a state-of-the-world response without its resources. */
export function parseSotwResponse(bytes: Uint8Array, isRequested: IsRequested): ParsedResponse {
  return parseResponse(DiscoveryResponse, bytes, ({ message, resources, problem }) => {
    const { typeUrl, nonce, versionInfo: version, resourceErrors: errors } = message;
    return {
      typeUrl,
      isRequested: isRequested(typeUrl),
      nonce,
      version,
      errors,
      removed: [],
      items: itemsOfAny(resources, version),
      controlPlane: message.controlPlane?.identifier,
      isComplete: true,
      problem: problem ?? versionProblem('version_info', version),
    };
  });
}

/** Parses an incremental response without its resources. */
export function parseDeltaResponse(bytes: Uint8Array, isRequested: IsRequested): ParsedResponse {
  return parseResponse(DeltaDiscoveryResponse, bytes, ({ message, resources, problem }) => {
    const { typeUrl, nonce, systemVersionInfo: version, resourceErrors: errors } = message;
    const named = message.removedResourceNames.map(({ name }) => name);
    return {
      typeUrl,
      isRequested: isRequested(typeUrl),
      nonce,
      version,
      errors,
      items: itemsOfWrappers(resources),
      removed: [...message.removedResources, ...named],
      controlPlane: message.controlPlane?.identifier,
      isComplete: false,
      problem: problem ?? versionProblem('system_version_info', version),
    };
  });
}

/** A response whose resources are not decoded. */
interface DecodedResponse<T> {
  readonly message: Omit<T, 'resources'>;
  readonly resources: EncodedElements;
  /** Why the response is rejected as a whole; `undefined` if it is not. */
  readonly problem: string | undefined;
}

/** What identifies a response: it is answered with both. */
interface ResponseId {
  readonly typeUrl: string;
  readonly nonce: string;
}

/** The codec of the responses of a variant. */
interface ResponseCodec<T> {
  decode(bytes: Uint8Array, length: undefined, budget: ReadBudget): T & ResponseId;
  create(id: ResponseId): T;
}

function parseResponse<T>(
  codec: ResponseCodec<T>,
  bytes: Uint8Array,
  toResponse: (decoded: DecodedResponse<T>) => AdsResponse,
): ParsedResponse {
  const encoded = asBuffer(bytes);
  try {
    const { bounds, rest } = splitMessage(
      encoded,
      RESOURCES,
      new ReadBudget(RESPONSE_FIELDS_LIMIT),
    );
    const message = codec.decode(rest, undefined, new ReadBudget(ENVELOPE_LIMIT));
    if (message.nonce.length > MAX_VERSION_LENGTH) return err(NONCE_PROBLEM);
    const resources = new EncodedElements(encoded, bounds);
    return ok(toResponse({ message, resources, problem: undefined }));
  } catch (error) {
    const id = error instanceof ReadLimitError ? identify(encoded) : undefined;
    if (id === undefined) {
      return err(`sent a response that cannot be decoded: ${errorMessage(error)}`);
    }
    const resources = new EncodedElements(Buffer.of(), []);
    return ok(toResponse({ message: codec.create(id), resources, problem: errorMessage(error) }));
  }
}

/** Why a response is rejected as a whole whose version is too long to be kept. */
function versionProblem(field: string, version: string): string | undefined {
  if (version.length <= MAX_VERSION_LENGTH) return undefined;
  return `${field}: more than ${MAX_VERSION_LENGTH} characters`;
}

/** Where a text is in a message. */
type Bounds = readonly [start: number, end: number];

/** Reads what identifies a response that is too large to be decoded, as far as it comes within the limit. */
function identify(encoded: Buffer): ResponseId | undefined {
  const scanner = new FieldScanner(encoded, new ReadBudget(RESPONSE_FIELDS_LIMIT));
  // Where the last one is: only that is decoded, of however many there are.
  const texts = new Map<number, Bounds>();
  try {
    while (scanner.next()) {
      const { number, start, end } = scanner;
      const isText = scanner.isDelimited(TYPE_URL) || scanner.isDelimited(NONCE);
      const maxBytes = number === NONCE ? MAX_VERSION_LENGTH : MAX_TEXT_BYTES;
      if (isText && end - start <= maxBytes) texts.set(number, [start, end]);
    }
  } catch {
    // What comes after it is not read.
  }
  const typeUrl = texts.get(TYPE_URL);
  const nonce = texts.get(NONCE);
  if (typeUrl === undefined || nonce === undefined) return undefined;
  return { typeUrl: textAt(encoded, typeUrl), nonce: textAt(encoded, nonce) };
}

function textAt(encoded: Buffer, [start, end]: Bounds): string {
  return encoded.toString('utf8', start, end);
}

const WRAPPER_TYPE_URL = 'type.googleapis.com/envoy.service.discovery.v3.Resource';

/**
 * The items of a state-of-the-world response: resources, or wrappers around them (`xds.config.resource-in-sotw`).
 * @param version The response's, which is the version of its resources in this variant.
 */
function itemsOfAny(elements: EncodedElements, version: string): ResponseItems {
  return new ParsedItems(elements, version, (element, budget) =>
    itemFromAny(element, version, budget),
  );
}

/** The items of an incremental response: resources in their wrappers. */
export function itemsOfWrappers(elements: EncodedElements): ResponseItems {
  return new ParsedItems(elements, '', (element, budget) =>
    itemFromWrapper(Resource.decode(element, undefined, budget)),
  );
}

class ParsedItems implements ResponseItems {
  private readonly budget = new ReadBudget(WRAPPER_LIMIT);

  constructor(
    private readonly elements: EncodedElements,
    private readonly version: string,
    private readonly parse: (element: Uint8Array, budget: ReadBudget) => ResponseItem,
  ) {}

  get length(): number {
    return this.elements.length;
  }

  at(index: number): ResponseItem {
    this.budget.renew();
    try {
      return this.parse(this.elements.at(index), this.budget);
    } catch (error) {
      const problem = `wrapper cannot be decoded: ${errorMessage(error)}`;
      return { ...bareItem(undefined, this.version), problem };
    }
  }

  consistsOf(index: number, head: Uint8Array, value: Uint8Array): boolean {
    return this.elements.consistsOf(index, head, value);
  }
}

function itemFromAny(element: Uint8Array, version: string, budget: ReadBudget): ResponseItem {
  const any = Any.decode(element, undefined, budget);
  if (any.typeUrl !== WRAPPER_TYPE_URL) return bareItem(any, version);
  return { ...itemFromWrapper(Resource.decode(any.value, undefined, budget)), version };
}

function itemFromWrapper(wrapper: Resource): ResponseItem {
  const { aliases, version, resource, resourceName, ttl } = wrapper;
  const name = (resourceName?.name ?? '') || wrapper.name;
  const ttlMs = ttl === undefined ? 0 : Number(ttl.seconds) * 1000 + ttl.nanos / 1e6;
  // No spread: V8 makes a hidden class for each object with one.
  return {
    name: name === '' ? undefined : name,
    aliases,
    version,
    resource,
    // A TTL of zero means no TTL.
    ttlMs: ttlMs > 0 && ttlMs <= MAX_TTL_MS ? ttlMs : undefined,
    problem: undefined,
  };
}

const NO_ALIASES: readonly string[] = [];

function bareItem(resource: Any | undefined, version: string): ResponseItem {
  return {
    name: undefined,
    aliases: NO_ALIASES,
    version,
    resource,
    ttlMs: undefined,
    problem: undefined,
  };
}

/** A resource of a response, without a wrapper. */
interface Element {
  /** Canonical. */
  readonly name: string;
  /** The encoded value that was accepted. */
  readonly bytes: Uint8Array;
}

/** The tag of `google.protobuf.Any.value`. */
const VALUE_TAG = 0x12;

/**
 * The order of the resources in the latest response of a type. Most servers send them in the same order each time, so
 * that an unchanged resource is found by its place, and neither it nor its name need be read.
 */
export class ResponseOrder {
  /** The resources in their order; `undefined` in the place of one that was not accepted. */
  private readonly elements: (Element | undefined)[] = [];
  /** What an encoded resource of the type has before the length of its value. */
  private readonly head: Uint8Array;

  constructor(typeUrl: string) {
    const type = Any.encode({ typeUrl, value: new Uint8Array() }).finish();
    this.head = Buffer.concat([type, Buffer.of(VALUE_TAG)]);
  }

  /** Returns what the previous response had in the place of a resource, if its bytes are the same. */
  unchanged(items: ResponseItems, index: number): Element | undefined {
    const element = this.elements[index];
    if (element === undefined) return undefined;
    return items.consistsOf(index, this.head, element.bytes) ? element : undefined;
  }

  /** Notes a resource, and the bytes of its value if it was accepted by its own name. */
  note(item: ResponseItem, index: number, name: string, bytes: Uint8Array | undefined): void {
    const hasOwnName = item.name === undefined && item.aliases.length === 0;
    this.elements[index] = hasOwnName && bytes !== undefined ? { name, bytes } : undefined;
  }

  /** Ends the response. @param count The number of its resources. */
  end(count: number): void {
    this.elements.length = Math.min(this.elements.length, count);
  }
}
