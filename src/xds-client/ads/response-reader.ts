import {
  rejectedEvent,
  repeatedEvent,
  serverErrorEvent,
  type Accepted,
  type EventOrigin,
  type ResourceEvent,
} from '../resource-state';
import type { ParseResourceName } from '../resource-name';
import {
  bytesToKeep,
  isSame,
  ResourceDecoder,
  type DecodedResource,
  type PartialResource,
  type ResourceDecoderOptions,
} from './resource-decoder';
import type { AdsResponse, ResponseItem, ResponseOrder } from './ads-response';
import type { ResourceError } from '../../wire/generated/envoy/service/discovery/v3/discovery';
import { errorMessage } from '../../util/errors';
import type { Steps } from '../../util/steps';
import {
  LARGE_RESPONSE_BYTES,
  LARGE_RESPONSE_RESOURCES,
  MAX_NAME_LENGTH,
  MAX_REJECTED_BYTES,
  MAX_RESOURCES_PER_RESPONSE,
  MAX_VERSION_LENGTH,
} from '../limits';
import { describeResource, type ResourceId } from '../xds-errors';
import { countViolations, MAX_VIOLATION_TEXTS } from '../../util/violations';

/** What a response is read with. */
export interface ReadContext extends Omit<ResourceDecoderOptions, 'previous' | 'nowMs'> {
  readonly origin: EventOrigin;
  readonly parseName: ParseResourceName;
  /** The requested resources of the type. They may change in a break. */
  readonly resources: ReadonlyMap<string, { readonly accepted: Accepted<unknown> | undefined }>;
  /** The order of the previous response of the type. It is replaced by that of this one. */
  readonly order: ResponseOrder;
  /** Called with an exception of reading a resource, which is rejected. @param subject Names the resource. */
  readonly onError: (subject: string, error: unknown) => void;
}

/** The content of a response. All names are canonical, and of requested resources. */
export interface ReadResponse {
  /** The events of the resources that it contains, by name. */
  readonly events: ReadonlyMap<string, ResourceEvent<unknown>>;
  /** Resources that do not exist. */
  readonly removed: readonly string[];
  /** Resources with a heartbeat that are not cached: the server believes that they are. */
  readonly lost: ReadonlySet<string>;
  /** Everything that is wrong with the response; each says which resource it is about. Empty means accepted. */
  readonly violations: readonly string[];
  /** How many resources are not valid. */
  readonly invalid: number;
  /** Whether a resource that is left out is thereby said not to exist. */
  readonly isComplete: boolean;
}

/**
 * Reads each resource of a response on its own (gRFC A46): a valid one is accepted whatever else is wrong. A resource
 * that is not requested is not decoded, and one whose bytes are those of the cached one is not decoded again. A large response is
 * read with breaks between its resources, and a large resource with breaks between its parts; nothing is changed meanwhile.
 */
export function* readResponse(response: AdsResponse, context: ReadContext): Steps<ReadResponse> {
  const reader = new ResponseReader(response, context);
  if (!reader.checkSize()) return reader;
  const { items } = response;
  for (let index = 0; index < items.length; index++) {
    const isKept = reader.keepInOrder(index);
    if (!isKept) {
      const item = items.at(index);
      const { name, changed } = reader.readItem(item, index);
      for (const resource of changed) while (!reader.decode(resource)) yield;
      if (name !== undefined) reader.noteInOrder(name, item, index);
    }
    if (reader.isLarge && (!isKept || index % KEPT_PER_BREAK === 0)) yield;
  }
  context.order.end(items.length);
  for (const [index, name] of response.removed.entries()) {
    reader.readRemoval(name);
    if (index % NAMES_PER_BREAK === NAMES_PER_BREAK - 1) yield;
  }
  for (const [index, error] of response.errors.entries()) {
    reader.readError(error);
    if (index % NAMES_PER_BREAK === NAMES_PER_BREAK - 1) yield;
  }
  // What takes long to read is applied in another turn.
  if (reader.isLarge) yield;
  return reader;
}

/** Resources that are only compared are read this many at a time: a look at the clock takes longer than one of them. */
const KEPT_PER_BREAK = 16;

/** Resources that are removed, or have an error, are read this many at a time. */
const NAMES_PER_BREAK = 32;

/** A resource of a response whose bytes are not those of the cached one. */
interface ChangedResource {
  /** `undefined` if it cannot be read. */
  readonly name: string | undefined;
  readonly bytes: Uint8Array;
  readonly item: ResponseItem;
  readonly index: number;
  /** What is left to decode of a large one. */
  rest: PartialResource | undefined;
}

/** What has been read of an item. */
interface ReadItem {
  /** The name of the resource as the server spells it; `undefined` if there is no resource that has one. */
  readonly name: string | undefined;
  /** What must be decoded of it: more than one resource if it has aliases. */
  readonly changed: readonly ChangedResource[];
}

const NOTHING: ReadItem = { name: undefined, changed: [] };

const NO_NAMES: readonly string[] = [];

class ResponseReader implements ReadResponse {
  readonly events = new Map<string, ResourceEvent<unknown>>();
  private readonly removals = new Set<string>();
  readonly lost = new Set<string>();
  invalid = 0;
  private readonly found = new ResponseViolations();
  /** The name of a broken resource is not known, so one that seems to be left out may be that one. */
  private hasNameless = false;
  /** There is something other than heartbeats. A server that only sends those leaves out everything else. */
  private hasResource: boolean;
  private readonly seen = new Set<string>();
  private readonly decoder: ResourceDecoder;
  /** What has been read so far, requested or not. */
  private resourcesRead = 0;
  private bytesRead = 0;

  constructor(
    private readonly response: AdsResponse,
    private readonly context: ReadContext,
  ) {
    this.hasResource = response.items.length === 0;
    const { nowMs } = context.origin;
    const previous = (name: string) => this.cached(this.canonical(name));
    this.decoder = new ResourceDecoder({ ...context, nowMs, previous });
  }

  /** Whether so much has been read that there may be a break after each resource. */
  get isLarge(): boolean {
    const { bytesRead, resourcesRead } = this;
    return resourcesRead >= LARGE_RESPONSE_RESOURCES || bytesRead >= LARGE_RESPONSE_BYTES;
  }

  get violations(): readonly string[] {
    return this.found.all;
  }

  get removed(): readonly string[] {
    return [...this.removals];
  }

  get isComplete(): boolean {
    const { type } = this.context;
    if (!this.response.isComplete || !type.allResourcesRequiredInSotw) return false;
    return this.hasResource && !this.hasNameless;
  }

  /** @returns whether the response is small enough to be read. */
  checkSize(): boolean {
    const { problem, items } = this.response;
    const count = items.length;
    if (count <= MAX_RESOURCES_PER_RESPONSE && problem === undefined) return true;
    this.invalid = count;
    const excess = `${count} resources, more than ${MAX_RESOURCES_PER_RESPONSE}`;
    this.found.addText(problem ?? excess);
    // Any of them may be one that seems to be left out.
    this.hasNameless = true;
    return false;
  }

  /** Keeps a resource that the previous response had in the same place. @returns whether it did, unchanged. */
  keepInOrder(index: number): boolean {
    const { order, resources } = this.context;
    const { items, version } = this.response;
    const element = order.unchanged(items, index);
    if (element === undefined) return false;
    const { name, bytes } = element;
    const cached = resources.get(name)?.accepted;
    // Another value may have been cached since, by another name of it.
    if (cached?.bytes !== bytes || this.seen.has(name)) return false;
    this.resourcesRead++;
    this.bytesRead += bytes.length;
    this.hasResource = true;
    this.seen.add(name);
    this.accept(name, repeatedEvent(cached, version));
    return true;
  }

  /** Reads an item, but decodes nothing. An exception, which is a bug, is contained to it. */
  readItem(item: ResponseItem, index: number): ReadItem {
    try {
      return this.readContent(item, index);
    } catch (error) {
      const { name, resource } = item;
      const ownName = name ?? (resource && this.peekName(resource.value));
      this.rejectUnread(ownName, index, error, resource?.value);
      return NOTHING;
    }
  }

  private readContent(item: ResponseItem, index: number): ReadItem {
    const { name, resource, problem } = item;
    this.resourcesRead++;
    this.bytesRead += resource?.value.length ?? 0;
    if (problem !== undefined || item.version.length > MAX_VERSION_LENGTH) {
      this.reject(name, index, [problem ?? `version: more than ${MAX_VERSION_LENGTH} characters`]);
      return NOTHING;
    }
    if (resource === undefined) {
      this.readHeartbeat(item, index);
      return NOTHING;
    }
    this.hasResource = true;
    const { type } = this.context;
    if (resource.typeUrl !== type.typeUrl) {
      const reason = `type_url is "${resource.typeUrl}", expected "${type.typeUrl}"`;
      this.reject(name, index, [reason]);
      return NOTHING;
    }
    const { value: bytes } = resource;
    const ownName = name ?? this.peekName(bytes);
    if (ownName === undefined) {
      // Decoding says what is wrong.
      return {
        name: undefined,
        changed: [{ name: undefined, bytes, item, index, rest: undefined }],
      };
    }
    if (ownName.length > MAX_NAME_LENGTH) {
      this.addViolations(undefined, index, [
        `its name has more than ${MAX_NAME_LENGTH} characters`,
      ]);
      return NOTHING;
    }
    return { name: ownName, changed: this.readNamed(ownName, bytes, item, index) };
  }

  /** Decodes a resource, or the next part of a large one. @returns whether all of it is decoded, and accepted or rejected. */
  decode(resource: ChangedResource): boolean {
    const { name, bytes, index, rest } = resource;
    // It may have been released in a break.
    if (rest !== undefined && name !== undefined && !this.context.resources.has(name)) return true;
    try {
      const decoded = rest === undefined ? this.decoder.decode(bytes) : rest.next();
      if (decoded === undefined) return false;
      if ('next' in decoded) {
        resource.rest = decoded;
        return false;
      }
      this.takeDecoded(resource, decoded);
    } catch (error) {
      this.rejectUnread(name, index, error, bytes);
    }
    return true;
  }

  private takeDecoded({ name, bytes, item, index }: ChangedResource, decoded: DecodedResource) {
    if (name === undefined) {
      const { result } = decoded;
      this.reject(undefined, index, result.ok ? ['its name cannot be read'] : result.error);
      return;
    }
    const { version, ttlMs } = item;
    const event = this.decoder.accept(decoded, this.cached(name), { bytes, version, ttlMs });
    if (event.ok) this.accept(name, event.value);
    else this.reject(name, index, event.error, bytes);
  }

  readRemoval(wireName: string): void {
    this.resourcesRead++;
    const name = this.canonical(wireName);
    if (this.isUnread(name)) this.removals.add(name);
  }

  /** Reads the error of a resource. A file lists what it does not contain. */
  readError({ resourceName, errorDetail }: ResourceError): void {
    const { isFile, readResourceErrors } = this.context.origin.policy;
    if (isFile) return this.readRemoval(resourceName?.name ?? '');
    if (!readResourceErrors) return;
    this.resourcesRead++;
    const name = this.canonical(resourceName?.name ?? '');
    if (!this.isUnread(name)) return;
    const status = { code: errorDetail?.code ?? 2, details: errorDetail?.message ?? '' };
    const { origin } = this.context;
    this.events.set(name, serverErrorEvent(this.idOf(name), status, this.response.version, origin));
  }

  /** A heartbeat is valid for the cached version only, and a server may leave the version out. */
  private readHeartbeat({ name: wireName, aliases, version, ttlMs }: ResponseItem, index: number) {
    if (wireName === undefined) {
      this.reject(undefined, index, ['neither a name nor a resource']);
      return;
    }
    for (const name of this.requestedNames(wireName, aliases)) {
      if (!this.isUnread(name)) continue;
      const cached = this.cached(name);
      if (cached === undefined) this.lost.add(name);
      else if (version === '' || version === cached.version || this.response.isComplete) {
        this.events.set(name, { kind: 'renewed', ttlMs });
      }
    }
  }

  private readNamed(
    ownName: string,
    bytes: Uint8Array,
    item: ResponseItem,
    index: number,
  ): readonly ChangedResource[] {
    const canonical = this.canonical(ownName);
    if (this.seen.has(canonical)) {
      this.addViolations(canonical, index, ['more than once in the response']);
      return [];
    }
    this.seen.add(canonical);
    const changed: ChangedResource[] = [];
    // One copy for all names.
    let kept: Uint8Array | undefined;
    for (const name of this.requestedNames(canonical, item.aliases)) {
      const cached = this.cached(name);
      if (cached !== undefined && isSame(cached.bytes, bytes)) {
        this.keep(name, cached, item);
      } else {
        kept ??= bytesToKeep(bytes);
        changed.push({ name, bytes: kept, item, index, rest: undefined });
      }
    }
    return changed;
  }

  /**
   * Notes where a resource is. Only responses that have every resource of their type have them in an order that may return.
   */
  noteInOrder(ownName: string, item: ResponseItem, index: number): void {
    const { order, type } = this.context;
    if (!this.response.isComplete || !type.allResourcesRequiredInSotw) return;
    try {
      const name = this.canonical(ownName);
      const event = this.events.get(name);
      order.note(item, index, name, event?.kind === 'accepted' ? event.accepted.bytes : undefined);
    } catch (error) {
      this.rejectUnread(ownName, index, error, item.resource?.value);
    }
  }

  private keep(name: string, accepted: Accepted<unknown>, { version, ttlMs }: ResponseItem): void {
    this.accept(name, { kind: 'accepted', accepted, version, ttlMs });
  }

  private rejectUnread(
    name: string | undefined,
    index: number,
    error: unknown,
    bytes: Uint8Array | undefined,
  ): void {
    this.reject(name, index, [`could not be read: ${errorMessage(error)}`], bytes);
    this.context.onError(this.subject(name, index), error);
  }

  private accept(name: string, event: ResourceEvent<unknown>): void {
    this.lost.delete(name);
    this.events.set(name, event);
  }

  /** Returns the requested ones of the names of a resource: its own, and its aliases. */
  private requestedNames(ownName: string, aliases: readonly string[]): readonly string[] {
    const { resources } = this.context;
    const name = this.canonical(ownName);
    if (aliases.length === 0) {
      return resources.has(name) ? [name] : NO_NAMES;
    }
    const names = [...new Set([ownName, ...aliases])].map((each) => this.canonical(each));
    return names.filter((each) => resources.has(each));
  }

  private cached(name: string): Accepted<unknown> | undefined {
    return this.context.resources.get(name)?.accepted;
  }

  private isUnread(name: string): boolean {
    if (!this.context.resources.has(name)) return false;
    return !this.events.has(name) && !this.lost.has(name);
  }

  private reject(
    wireName: string | undefined,
    index: number,
    violations: readonly string[],
    bytes?: Uint8Array,
  ): void {
    if (wireName === undefined) this.hasNameless = true;
    const name = wireName === undefined ? undefined : this.canonical(wireName);
    this.addViolations(name, index, violations);
    if (name === undefined || !this.isUnread(name)) return;
    const { version } = this.response;
    const isKept = bytes !== undefined && bytes.length <= MAX_REJECTED_BYTES;
    const rejection = { violations, bytes: isKept ? bytesToKeep(bytes) : undefined, version };
    this.events.set(name, rejectedEvent(this.idOf(name), rejection, this.context.origin));
  }

  private addViolations(
    name: string | undefined,
    index: number,
    violations: readonly string[],
  ): void {
    this.invalid++;
    this.found.add(() => this.subject(name, index), violations);
  }

  private subject(name: string | undefined, index: number): string {
    return name === undefined ? `resources[${index}]` : describeResource(this.idOf(name));
  }

  private peekName(bytes: Uint8Array): string | undefined {
    try {
      return this.context.type.peekName(bytes);
    } catch {
      // Decoding will say what is wrong.
      return undefined;
    }
  }

  /** A name that cannot be parsed was never requested; its own spelling is not found. */
  private canonical(wireName: string): string {
    const name = this.context.parseName(wireName, this.context.type.typeUrl);
    return name.ok ? name.value.canonical : wireName;
  }

  private idOf(name: string): ResourceId {
    return { typeName: this.context.type.typeName, name };
  }
}

/** The violations of all resources of a response, of which as many are kept as of one input. */
class ResponseViolations {
  private readonly texts: string[] = [];
  /** How many there are besides. */
  private more = 0;

  /** The texts; the last one has the number of the violations besides, if there are any. */
  get all(): readonly string[] {
    const { texts, more } = this;
    return more === 0 ? texts : [...texts, `and ${more} more violations`];
  }

  /**
   * Adds the violations of a resource.
   * @param describe Names the resource. Called only if one of its texts is kept.
   */
  add(describe: () => string, violations: readonly string[]): void {
    const { texts, more } = countViolations(violations);
    const kept = texts.slice(0, MAX_VIOLATION_TEXTS - this.texts.length);
    const subject = kept.length === 0 ? '' : describe();
    for (const text of kept) this.texts.push(`${subject}: ${text}`);
    this.more += texts.length - kept.length + more;
  }

  /** Adds a violation that is not of a resource. */
  addText(text: string): void {
    this.texts.push(text);
  }
}
