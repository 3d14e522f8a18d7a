import type { ServerConfig } from '../../bootstrap/bootstrap';
import { errorMessage } from '../../util/errors';
import {
  MAX_NAME_LENGTH,
  MAX_RESOURCES,
  MAX_VERSION_LENGTH,
  RESPONSE_LIMIT,
} from '../../util/limits';
import { ReadBudget } from '../../util/read-budget';
import type { Steps } from '../../util/time-slices';
import { countViolations, MAX_VIOLATION_TEXTS } from '../../util/violations';
import type { ResourceError } from '../../wire/generated/envoy/service/discovery/v3/discovery';
import type { ElementCounts } from '../budgets';
import { LARGE_RESPONSE_BYTES, LARGE_RESPONSE_RESOURCES, MAX_REJECTED_BYTES } from '../limits';
import type { ParseResourceName } from '../resource-name';
import {
  cachedBytes,
  rejectedEvent,
  serverErrorEvent,
  type Accepted,
  type AcceptedEvent,
  type CachedSize,
  type EventOrigin,
  type ResourceEvent,
} from '../resource-state';
import {
  describeElementLimit,
  isUnfinished,
  type CertificateProviders,
  type ElementLimit,
  type PreviousVersion,
  type ResourceType,
} from '../resource-type';
import { describeResource, type ResourceId } from '../xds-errors';
import type { AdsResponse, ResponseItem, ResponseOrder } from './ads-response';

/** A requested resource while a response is read. */
export interface CachedResource {
  readonly accepted: Accepted<unknown> | undefined;
  /** Returns the event of its removal. @param isExplicit Whether the server says so, instead of leaving the resource out. */
  removal(version: string, isExplicit: boolean): ResourceEvent<unknown>;
}

/** What a response is read with. */
export interface ReadContext {
  readonly type: ResourceType<unknown>;
  readonly server: ServerConfig;
  readonly certificateProviders: CertificateProviders;
  readonly origin: EventOrigin;
  readonly parseName: ParseResourceName;
  /** The requested resources of the type. They may change in a break. */
  readonly resources: ReadonlyMap<string, CachedResource>;
  /** The order of the previous response of the type. It is replaced by that of this one. */
  readonly order: ResponseOrder;
  /** Counts what the resources have more than those they replace while the response is read: others are read meanwhile. */
  readonly elements: ElementCounts;
  /** The limit on what all cached resources take. */
  readonly cacheLimit: ElementLimit;
  /** Called with an exception of reading a resource, which is rejected. @param subject Names the resource. */
  readonly onError: (subject: string, error: unknown) => void;
}

/** The content of a response. All names are canonical, and of requested resources. */
export interface ResponseContent {
  /** The events of the resources that it contains, by name. */
  readonly events: ReadonlyMap<string, ResourceEvent<unknown>>;
  /** The events of resources that the server says do not exist. */
  readonly removed: ReadonlyMap<string, ResourceEvent<unknown>>;
  /** The same of those that a complete response leaves out. */
  readonly leftOut: ReadonlyMap<string, ResourceEvent<unknown>>;
  /** Resources with a heartbeat that are not cached: the server believes that they are. */
  readonly lost: ReadonlySet<string>;
  /** Everything that is wrong with the response; each says which resource it is about. Empty means accepted. */
  readonly violations: readonly string[];
  /** How many resources are not valid. */
  readonly invalid: number;
  /** Whether a resource that is left out is thereby said not to exist. */
  readonly isComplete: boolean;
}

/** Resources that are only compared are read this many at a time: a look at the clock takes longer than one of them. */
const KEPT_PER_BREAK = 16;

/** Resources that are removed, or have an error, are read this many at a time. */
const NAMES_PER_BREAK = 32;

/**
 * Reads each resource of a response on its own (gRFC A46): a valid one is accepted whatever else is wrong. A resource
 * that is not requested is not decoded, and one whose bytes are those of the cached one is not decoded again. A large response is
 * read with breaks between its resources, and a large resource with breaks between its parts; nothing is changed meanwhile.
 */
export function readResponse(response: AdsResponse, context: ReadContext): Steps<ResponseContent> {
  return new ResponseReader(response, context).read();
}

/** The cached version of a resource that is decoded. */
type CachedVersion = Pick<Accepted<unknown>, 'value' | 'record' | 'size'>;

class ResponseReader {
  private readonly events = new Map<string, ResourceEvent<unknown>>();
  private readonly removed = new Map<string, ResourceEvent<unknown>>();
  private readonly leftOut = new Map<string, ResourceEvent<unknown>>();
  private readonly lost = new Set<string>();
  private invalid = 0;
  /** The first violations, of as many as one input may have, and the number of the others. */
  private readonly violations: string[] = [];
  private moreViolations = 0;
  /** Whether it has every resource of its type, so that others do not exist. */
  private readonly isWhole: boolean;
  /** The name of a broken resource is not known, so one that seems to be left out may be that one. */
  private hasNameless = false;
  /** There is something other than heartbeats. A server that only sends those leaves out everything else. */
  private hasResource: boolean;
  private readonly seen = new Set<string>();
  /** What has been read so far, requested or not. */
  private resourcesRead = 0;
  private bytesRead = 0;
  /** How many fields the resources of the response may still have. */
  private readonly budget = new ReadBudget(RESPONSE_LIMIT);
  /** What the resources read so far have more than those they replace, by limit. */
  private readonly reserved = new Map<ElementLimit, number>();

  constructor(
    private readonly response: AdsResponse,
    private readonly context: ReadContext,
  ) {
    this.hasResource = response.items.length === 0;
    this.isWhole = response.isComplete && context.type.allResourcesRequiredInSotw;
  }

  *read(): Steps<ResponseContent> {
    const { elements } = this.context;
    const { items, problem } = this.response;
    try {
      if (problem !== undefined || items.length > MAX_RESOURCES) {
        this.rejectWhole(problem);
      } else {
        yield* this.readParts();
      }
    } finally {
      // What was read is applied now, or dropped.
      for (const [limit, count] of this.reserved) elements.add(limit, -count);
    }
    const { events, removed, leftOut, lost, invalid, isComplete, moreViolations: more } = this;
    const violations =
      more === 0 ? this.violations : [...this.violations, `and ${more} more violations`];
    return { events, removed, leftOut, lost, violations, invalid, isComplete };
  }

  /** Whether a resource that is left out is thereby said not to exist. */
  private get isComplete(): boolean {
    return this.isWhole && this.hasResource && !this.hasNameless;
  }

  private *readParts(): Steps<void> {
    const { items, removed, errors } = this.response;
    for (let index = 0; index < items.length; index++) {
      if (this.isWhole && this.keepInOrder(index)) {
        if (index % KEPT_PER_BREAK !== 0) continue;
      } else {
        yield* this.readItem(items.at(index), index);
      }
      if (this.isLarge) yield;
    }
    if (this.isWhole) this.context.order.end(items.length);
    for (const [index, name] of removed.entries()) {
      this.readRemoval(name);
      if (index % NAMES_PER_BREAK === NAMES_PER_BREAK - 1) yield;
    }
    for (const [index, error] of errors.entries()) {
      this.readError(error);
      if (index % NAMES_PER_BREAK === NAMES_PER_BREAK - 1) yield;
    }
    if (this.isComplete) yield* this.readLeftOut();
    // What takes long to read is applied in another turn.
    if (this.isLarge) yield;
  }

  /** Whether so much has been read that there may be a break after each resource. */
  private get isLarge(): boolean {
    const { bytesRead, resourcesRead } = this;
    return resourcesRead >= LARGE_RESPONSE_RESOURCES || bytesRead >= LARGE_RESPONSE_BYTES;
  }

  /** Rejects a response that is too large to be read. @param problem Default: it has too many resources. */
  private rejectWhole(problem: string | undefined): void {
    const count = this.response.items.length;
    this.invalid = count;
    const excess = `${count} resources, more than ${MAX_RESOURCES}`;
    this.violations.push(problem ?? excess);
    // Any of them may be one that seems to be left out.
    this.hasNameless = true;
  }

  /** Keeps a resource that the previous response had in the same place. @returns whether it did, unchanged. */
  private keepInOrder(index: number): boolean {
    const { order, resources } = this.context;
    const { items, version } = this.response;
    const element = order.unchanged(items, index);
    const cached = element && resources.get(element.name)?.accepted;
    // Another value may have been cached since, by another name of it.
    const isKept =
      element !== undefined && cached?.bytes === element.bytes && !this.seen.has(element.name);
    if (!isKept) {
      order.forget(index);
      return false;
    }
    const { name, bytes } = element;
    this.resourcesRead++;
    this.bytesRead += bytes.length;
    this.hasResource = true;
    this.seen.add(name);
    this.lost.delete(name);
    this.events.set(name, { kind: 'accepted', accepted: cached, version });
    return true;
  }

  /** Reads an item. An exception, which is a bug, is contained to it. */
  private *readItem(item: ResponseItem, index: number): Steps<void> {
    const { name, resource, problem } = item;
    const bytes = resource?.value;
    this.resourcesRead++;
    this.bytesRead += bytes?.length ?? 0;
    try {
      if (problem !== undefined || item.version.length > MAX_VERSION_LENGTH) {
        const reason = problem ?? `version: more than ${MAX_VERSION_LENGTH} characters`;
        this.reject(name, index, [reason]);
      } else if (resource === undefined) {
        this.readHeartbeat(item, index);
      } else {
        this.hasResource = true;
        const { typeUrl } = this.context.type;
        if (resource.typeUrl === typeUrl) yield* this.readNamed(resource.value, item, index);
        else this.reject(name, index, [`type_url is "${resource.typeUrl}", expected "${typeUrl}"`]);
      }
    } catch (error) {
      this.rejectUnread(name ?? (bytes && this.peekName(bytes)), index, error, bytes);
    }
  }

  /** Reads a resource by its name and its aliases. It is decoded for each of them whose cached bytes are others. */
  private *readNamed(bytes: Uint8Array, item: ResponseItem, index: number): Steps<void> {
    const ownName = item.name ?? this.peekName(bytes);
    if (ownName === undefined) {
      // Decoding says what is wrong.
      yield* this.decode(undefined, bytes, item, index);
      return;
    }
    if (ownName.length > MAX_NAME_LENGTH) {
      const reason = `its name has more than ${MAX_NAME_LENGTH} characters`;
      this.addViolations(undefined, index, [reason]);
      return;
    }
    const canonical = this.canonical(ownName);
    if (this.seen.has(canonical)) {
      this.addViolations(canonical, index, ['more than once in the response']);
      return;
    }
    this.seen.add(canonical);
    // One copy for all names.
    let kept: Uint8Array | undefined;
    for (const name of this.namesOf(canonical, item.aliases)) {
      if (!this.context.resources.has(name)) continue;
      const accepted = this.cached(name);
      if (accepted !== undefined && isSame(accepted.bytes, bytes)) {
        const { version, ttlMs } = item;
        this.accept(name, { kind: 'accepted', accepted, version, ttlMs }, item, index);
      } else {
        kept ??= bytesToKeep(bytes);
        yield* this.decode(name, kept, item, index);
      }
    }
  }

  /** Decodes a resource, a large one with breaks, and accepts or rejects it. @param name `undefined` if it cannot be read. */
  private *decode(
    name: string | undefined,
    bytes: Uint8Array,
    item: ResponseItem,
    index: number,
  ): Steps<void> {
    const { type, server, certificateProviders, resources, origin } = this.context;
    const { budget } = this;
    const fieldsLeft = budget.left;
    let compared: CachedVersion | undefined;
    const previous = (ownName: string) => {
      compared = this.cached(this.canonical(ownName));
      return compared && versionToCompare(compared);
    };
    try {
      const decoding = type.decode(bytes, { server, certificateProviders, budget, previous });
      let decoded = isUnfinished(decoding) ? undefined : decoding;
      while (decoded === undefined) {
        yield;
        // It may have been released in the break.
        if (name !== undefined && !resources.has(name)) return;
        decoded = isUnfinished(decoding) ? decoding.next() : decoding;
      }
      const { result } = decoded;
      if (name === undefined || !result.ok) {
        this.reject(name, index, result.ok ? ['its name cannot be read'] : result.error, bytes);
        return;
      }
      const known = result.isPartial === true ? compared?.size : undefined;
      const size = {
        bytes: bytes.buffer.byteLength,
        ...countFields(fieldsLeft - budget.left, known),
      };
      const accepted: Accepted<unknown> = {
        value: result.value,
        record: result.record,
        bytes,
        version: item.version,
        serverKey: server.key,
        updatedAtMs: origin.nowMs,
        elements: type.countElements(result.value, result.fields ?? 0),
        size,
      };
      const excess = this.reserve(accepted, this.cached(name));
      if (excess === undefined) {
        this.accept(name, { kind: 'accepted', accepted, ttlMs: item.ttlMs }, item, index);
      } else {
        this.reject(name, index, [excess], bytes);
      }
    } catch (error) {
      this.rejectUnread(name, index, error, bytes);
    }
  }

  /**
   * Reserves what a resource has more than the version it replaces. An update that has less than that exceeds nothing.
   * @returns how it exceeds a limit; `undefined` if it does not.
   */
  private reserve(
    next: Accepted<unknown>,
    replaced: Accepted<unknown> | undefined,
  ): string | undefined {
    const { cacheLimit, elements: counts, type } = this.context;
    const bytes = cachedBytes(next);
    const elements = next.elements ?? 0;
    const added = new Map([
      [cacheLimit, { count: bytes, more: bytes - (replaced ? cachedBytes(replaced) : 0) }],
    ]);
    if (type.elementLimit !== undefined) {
      added.set(type.elementLimit, {
        count: elements,
        more: elements - (replaced?.elements ?? 0),
      });
    }
    for (const [limit, { count, more }] of added) {
      const total = counts.of(limit) + more;
      if (more <= 0 || total <= limit.max) continue;
      const bound = describeElementLimit(limit);
      return `${count} ${limit.noun}, with those of other resources ${total}, ${bound}`;
    }
    for (const [limit, { more }] of added) {
      counts.add(limit, more);
      this.reserved.set(limit, (this.reserved.get(limit) ?? 0) + more);
    }
    return undefined;
  }

  private readRemoval(wireName: string): void {
    this.resourcesRead++;
    const name = this.canonical(wireName);
    const resource = this.context.resources.get(name);
    if (resource === undefined || !this.isUnread(name)) return;
    this.removed.set(name, resource.removal(this.response.version, true));
  }

  /** Reads that resources are left out. */
  private *readLeftOut(): Steps<void> {
    let count = 0;
    for (const [name, resource] of this.context.resources) {
      if (!this.isUnread(name) || this.removed.has(name)) continue;
      this.leftOut.set(name, resource.removal(this.response.version, false));
      if (++count % NAMES_PER_BREAK === 0) yield;
    }
    this.resourcesRead += count;
  }

  /** Reads the error of a resource. A file lists what it does not contain. */
  private readError({ resourceName, errorDetail }: ResourceError): void {
    const { origin } = this.context;
    if (origin.policy.isFile) return this.readRemoval(resourceName?.name ?? '');
    if (!origin.policy.readResourceErrors) return;
    this.resourcesRead++;
    const name = this.canonical(resourceName?.name ?? '');
    if (!this.isUnread(name)) return;
    const status = { code: errorDetail?.code ?? 2, details: errorDetail?.message ?? '' };
    this.events.set(name, serverErrorEvent(this.idOf(name), status, this.response.version, origin));
  }

  /** A heartbeat is valid for the cached version only, and a server may leave the version out. */
  private readHeartbeat({ name: wireName, aliases, version, ttlMs }: ResponseItem, index: number) {
    if (wireName === undefined) {
      this.reject(undefined, index, ['neither a name nor a resource']);
      return;
    }
    for (const name of this.namesOf(this.canonical(wireName), aliases)) {
      if (!this.isUnread(name)) continue;
      const cached = this.cached(name);
      if (cached === undefined) this.lost.add(name);
      else if (version === '' || version === cached.version || this.response.isComplete) {
        this.events.set(name, { kind: 'renewed', ttlMs });
      }
    }
  }

  private accept(
    name: string,
    event: AcceptedEvent<unknown>,
    item: ResponseItem,
    index: number,
  ): void {
    this.lost.delete(name);
    this.events.set(name, event);
    if (this.isWhole) this.context.order.note(item, index, name, event.accepted.bytes);
  }

  /** Returns the names of a resource: its own, and its aliases. */
  private namesOf(canonical: string, aliases: readonly string[]): Iterable<string> {
    if (aliases.length === 0) return [canonical];
    return new Set([canonical, ...aliases.map((alias) => this.canonical(alias))]);
  }

  private cached(name: string): Accepted<unknown> | undefined {
    return this.context.resources.get(name)?.accepted;
  }

  /** Whether a resource is requested, and nothing has been read of it. */
  private isUnread(name: string): boolean {
    if (!this.context.resources.has(name)) return false;
    return !this.events.has(name) && !this.lost.has(name);
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
    const { texts, more } = countViolations(violations);
    const kept = texts.slice(0, MAX_VIOLATION_TEXTS - this.violations.length);
    const subject = kept.length === 0 ? '' : this.subject(name, index);
    for (const text of kept) this.violations.push(`${subject}: ${text}`);
    this.moreViolations += texts.length - kept.length + more;
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

/**
 * What updates drop of a resource is not known where only changes are decoded, so that its fields are counted from above.
 * Once there may be a quarter less than that, it is decoded as a whole: then they are known. Small ones are so much later.
 */
const PARTIAL_FACTOR = 1.25;
const PARTIAL_FIELDS = 64;

/** Returns the version that a resource is decoded with: without its record, it is decoded as a whole. */
function versionToCompare(cached: CachedVersion): PreviousVersion<unknown> {
  const { value, size } = cached;
  const isExact =
    size === undefined || size.fields <= size.wholeFields * PARTIAL_FACTOR + PARTIAL_FIELDS;
  return isExact ? cached : { value };
}

/** Returns whether two resources have the same bytes. Compares natively. */
function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

/**
 * Returns bytes that do not keep a whole response in memory: a copy, unless the resource is most of its response. Large
 * endpoint assignments, which have megabytes, usually are.
 */
function bytesToKeep(bytes: Uint8Array): Uint8Array {
  const { buffer, byteOffset, byteLength } = bytes;
  const isMost = 2 * byteLength > buffer.byteLength;
  return isMost ? new Uint8Array(buffer, byteOffset, byteLength) : new Uint8Array(bytes);
}

/** @param known The counts of the version that a resource was compared with, of which only what differs was read. */
function countFields(
  read: number,
  known: CachedSize | undefined,
): Pick<CachedSize, 'fields' | 'wholeFields'> {
  if (known === undefined) return { fields: read, wholeFields: read };
  return { fields: read + known.fields, wholeFields: known.wholeFields };
}
