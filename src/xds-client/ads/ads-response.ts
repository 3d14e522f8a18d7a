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
import {
  ENVELOPE_LIMIT,
  LIST_LIMIT,
  MAX_TEXT_BYTES,
  MAX_VERSION_LENGTH,
  WRAPPER_LIMIT,
} from '../../util/limits';
import { ReadBudget, ReadLimitError } from '../../util/read-budget';
import { err, ok, type Result } from '../../util/result';
import { MAX_TTL_MS } from '../limits';

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

/** A response of either variant of the protocol. Its resources are not decoded. */
export interface AdsResponse {
  readonly typeUrl: string;
  readonly nonce: string;
  /** The version of the response as a whole; in the incremental variant it is for diagnostics only. */
  readonly version: string;
  readonly items: Pick<ResponseItems, 'length' | 'at' | 'consistsOf'>;
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

/** A parsed response, or why the stream must end, to follow the name of the server. */
export type ParsedResponse = Result<AdsResponse, string>;

/** A response, of which only what the two variants name differently must be read by variant. */
interface ResponseHead extends ResponseId, Pick<AdsResponse, 'version' | 'removed'> {
  readonly resourceErrors: readonly ResourceError[];
  readonly controlPlane: { readonly identifier: string } | undefined;
}

/** Parses a response without its resources. @param isDelta Whether it is one of the incremental variant. */
export function parseAdsResponse(bytes: Uint8Array, isDelta: boolean): ParsedResponse {
  const encoded = asBuffer(bytes);
  let head: ResponseHead;
  let elements: EncodedElements;
  let problem: string | undefined;
  try {
    const budget = new ReadBudget(LIST_LIMIT);
    const { bounds, rest } = splitMessage(encoded, RESOURCES, budget);
    elements = new EncodedElements(encoded, bounds);
    head = isDelta ? readDeltaHead(rest) : readSotwHead(rest);
    if (head.version.length > MAX_VERSION_LENGTH) {
      const field = isDelta ? 'system_version_info' : 'version_info';
      problem = `${field}: more than ${MAX_VERSION_LENGTH} characters`;
    }
  } catch (error) {
    problem = errorMessage(error);
    const id = error instanceof ReadLimitError ? identify(encoded) : undefined;
    if (id === undefined) return err(`sent a response that cannot be decoded: ${problem}`);
    head = { ...id, version: '', removed: [], resourceErrors: [], controlPlane: undefined };
    elements = NO_ELEMENTS;
  }
  const { typeUrl, nonce, version, removed, resourceErrors: errors } = head;
  if (nonce.length > MAX_VERSION_LENGTH) {
    return err(`sent a response whose nonce has more than ${MAX_VERSION_LENGTH} characters`);
  }
  const items = new ResponseItems(elements, isDelta, version);
  const controlPlane = head.controlPlane?.identifier;
  const isComplete = !isDelta;
  return ok({ typeUrl, nonce, version, items, removed, errors, controlPlane, isComplete, problem });
}

const NO_ELEMENTS = new EncodedElements(Buffer.of(), []);

function readSotwHead(bytes: Uint8Array): ResponseHead {
  const head = DiscoveryResponse.decode(bytes, undefined, new ReadBudget(ENVELOPE_LIMIT));
  return { ...head, version: head.versionInfo, removed: [] };
}

function readDeltaHead(bytes: Uint8Array): ResponseHead {
  const head = DeltaDiscoveryResponse.decode(bytes, undefined, new ReadBudget(ENVELOPE_LIMIT));
  const named = head.removedResourceNames.map(({ name }) => name);
  return {
    ...head,
    version: head.systemVersionInfo,
    removed: [...head.removedResources, ...named],
  };
}

/** What identifies a response: it is answered with both. */
interface ResponseId {
  readonly typeUrl: string;
  readonly nonce: string;
}

/** Where a text is in a message. */
type Bounds = readonly [start: number, end: number];

/** Reads what identifies a response that is too large to be decoded, as far as it comes within the limit. */
function identify(encoded: Buffer): ResponseId | undefined {
  const scanner = new FieldScanner(encoded, new ReadBudget(LIST_LIMIT));
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
 * The resources of a response. Each is decoded from its wrapper when it is read, since most are unchanged since the last response. In state
 * of the world the wrapper is optional (`xds.config.resource-in-sotw`).
 */
export class ResponseItems {
  readonly length: number;
  private readonly budget = new ReadBudget(WRAPPER_LIMIT);

  /** @param version The response's, which in state of the world is the version of its resources. */
  constructor(
    private readonly elements: EncodedElements,
    private readonly areWrapped: boolean,
    private readonly version: string,
  ) {
    this.length = elements.length;
  }

  at(index: number): ResponseItem {
    this.budget.renew();
    try {
      const element = this.elements.at(index);
      if (!this.areWrapped) return itemFromAny(element, this.version, this.budget);
      return itemFromWrapper(Resource.decode(element, undefined, this.budget));
    } catch (error) {
      const problem = `wrapper cannot be decoded: ${errorMessage(error)}`;
      const version = this.areWrapped ? '' : this.version;
      return { ...bareItem(undefined, version), problem };
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
  unchanged(items: AdsResponse['items'], index: number): Element | undefined {
    const element = this.elements[index];
    if (element === undefined) return undefined;
    return items.consistsOf(index, this.head, element.bytes) ? element : undefined;
  }

  /** Notes the bytes of a resource that was accepted, if that is by its own name. */
  note(item: ResponseItem, index: number, name: string, bytes: Uint8Array): void {
    if (item.name === undefined && item.aliases.length === 0)
      this.elements[index] = { name, bytes };
  }

  /** Forgets what the previous response had in a place. */
  forget(index: number): void {
    this.elements[index] = undefined;
  }

  /** Ends the response. @param count The number of its resources. */
  end(count: number): void {
    this.elements.length = Math.min(this.elements.length, count);
  }
}
