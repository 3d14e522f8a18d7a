import type { ServerConfig } from '../../bootstrap/bootstrap';
import type { ResourceError } from '../../generated/envoy/service/discovery/v3/discovery';
import type { Any } from '../../generated/google/protobuf/any';
import { errorMessage } from '../../util/error-message';
import { err } from '../../util/result';
import { runSteps, type Steps } from '../../util/steps';
import type { AdsResponse, ResponseItem } from './ads-response';
import {
  MAX_NAME_LENGTH,
  MAX_RESOURCES_PER_RESPONSE,
  MIN_BYTES_IN_STEPS,
  MIN_RESOURCES_IN_STEPS,
} from '../limits';
import type { ParseResourceName } from '../resource-name';
import type { Accepted, ValueChange } from '../resource-state';
import type {
  CertificateProviders,
  DecodeContext,
  DecodedValue,
  DecodeResult,
  ElementLimit,
  ResourceType,
} from '../resource-type';
import type { StreamStatus } from '../transport';
import { describeResource } from '../xds-errors';

/** What a response says about one resource that is wanted. */
export type ResourceOutcome =
  | {
      readonly kind: 'accepted';
      readonly accepted: Accepted<unknown>;
      /** How the value differs from an earlier one; `undefined` if that is not known. */
      readonly change: ValueChange | undefined;
      /** Milliseconds after which it must be forgotten unless it is renewed; `undefined`: never. */
      readonly ttlMs: number | undefined;
    }
  | {
      readonly kind: 'rejected';
      readonly violations: readonly string[];
      /** What is not valid; `undefined` if it could not be taken out of the response. */
      readonly bytes: Uint8Array | undefined;
    }
  /** The server cannot supply it (gRFC A88). */
  | { readonly kind: 'server-error'; readonly status: StreamStatus }
  /** A heartbeat: the value in use is good for another while. */
  | { readonly kind: 'renewed'; readonly ttlMs: number | undefined }
  /** A heartbeat of something that is not here: the server believes that we have it. */
  | { readonly kind: 'lost' };

/** A valid resource of a response. */
interface ReadValue extends DecodedValue<unknown> {
  readonly bytes: Uint8Array;
  /** The value that the change starts from. */
  readonly from: unknown;
}

/** What a response says. */
export interface ReadResources {
  /** By canonical name; only resources that are wanted. */
  readonly outcomes: ReadonlyMap<string, ResourceOutcome>;
  /** Canonical names of wanted resources that the server says do not exist. */
  readonly removed: readonly string[];
  /** Everything that is wrong with the response; each says which resource it is about. Empty means accepted. */
  readonly violations: readonly string[];
  /** How many resources are not valid. */
  readonly invalid: number;
  /** Whether a resource that is left out is thereby said not to exist. */
  readonly isComplete: boolean;
}

/** What must be known to judge a response. */
export interface ReadContext {
  readonly type: ResourceType<unknown>;
  readonly server: ServerConfig;
  readonly certificateProviders: CertificateProviders;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** Whether the errors listed for single resources count (gRFC A88). */
  readonly readResourceErrors: boolean;
  /** Reads the names of resources. */
  readonly parseName: ParseResourceName;
  /** Whether anybody watches a resource. */
  isWanted(name: string): boolean;
  /** The value in use, whichever server it is from. */
  cached(name: string): Accepted<unknown> | undefined;
  /** How many elements of the resources in use count against a limit. */
  elementsOf(limit: ElementLimit): number;
}

/**
 * Judges each resource of a response on its own (gRFC A46): what is valid counts whatever else is wrong. A
 * resource that nobody wants is not decoded, and one whose bytes are the ones in use is not decoded again.
 */
export function readResources(response: AdsResponse, context: ReadContext): ReadResources {
  return runSteps(readInSteps(response, context));
}

/**
 * Does the same as {@link readResources} in steps. A small response is read in one, unless a resource is decoded in
 * several. What is wanted and what is cached may change between two steps.
 */
export function* readInSteps(response: AdsResponse, context: ReadContext): Steps<ReadResources> {
  const reader = new ResponseReader(response, context);
  if (!reader.checkSize()) return reader;
  for (const [index, item] of response.items.entries()) {
    yield* reader.readItem(item, index);
    if (reader.isLarge) yield;
  }
  for (const name of response.removed) {
    reader.readRemoval(name);
    if (reader.isLarge) yield;
  }
  for (const error of context.readResourceErrors ? response.errors : []) {
    reader.readError(error);
    if (reader.isLarge) yield;
  }
  return reader;
}

class ResponseReader implements ReadResources {
  readonly outcomes = new Map<string, ResourceOutcome>();
  readonly removed: string[] = [];
  readonly violations: string[] = [];
  invalid = 0;
  /** A resource was too broken to tell its name, so one that seems to be left out may be that one. */
  private hasNameless = false;
  /** Something other than heartbeats came. A server that only sends those leaves everything else out. */
  private hasResource: boolean;
  private readonly seen = new Set<string>();
  /** How many elements the resources accepted so far have more than those they replace. */
  private addedElements = 0;
  /** What has been read so far, wanted or not. */
  private resourcesRead = 0;
  private bytesRead = 0;

  constructor(
    private readonly response: AdsResponse,
    private readonly context: ReadContext,
  ) {
    this.hasResource = response.items.length === 0;
  }

  /** Whether so much has been read that there may be a break after each resource. */
  get isLarge(): boolean {
    return this.resourcesRead >= MIN_RESOURCES_IN_STEPS || this.bytesRead >= MIN_BYTES_IN_STEPS;
  }

  get isComplete(): boolean {
    const { type } = this.context;
    if (!this.response.isComplete || !type.allResourcesRequiredInSotw) return false;
    return this.hasResource && !this.hasNameless;
  }

  /** @returns whether the response is worth reading. */
  checkSize(): boolean {
    const count = this.response.items.length;
    if (count <= MAX_RESOURCES_PER_RESPONSE) return true;
    this.invalid = count;
    this.violations.push(`${count} resources, more than ${MAX_RESOURCES_PER_RESPONSE}`);
    // Any of them may be one that seems to be left out.
    this.hasNameless = true;
    return false;
  }

  *readItem(item: ResponseItem, index: number): Steps<void> {
    const { name, resource, problem } = item;
    this.resourcesRead++;
    this.bytesRead += resource?.value.length ?? 0;
    if (problem !== undefined) {
      this.reject(name, index, [problem]);
      return;
    }
    if (resource === undefined) {
      this.readHeartbeat(item, index);
      return;
    }
    this.hasResource = true;
    const { type } = this.context;
    if (resource.typeUrl !== type.typeUrl) {
      const reason = `type_url is "${resource.typeUrl}", expected "${type.typeUrl}"`;
      this.reject(name, index, [reason]);
      return;
    }
    const ownName = name ?? this.peekName(resource.value);
    if (ownName === undefined) {
      // Decoding says what is wrong.
      const { result } = runSteps(this.decode(new Uint8Array(resource.value)));
      this.reject(undefined, index, result.ok ? ['its name cannot be read'] : result.error);
      return;
    }
    if (ownName.length > MAX_NAME_LENGTH) {
      this.invalid++;
      this.violations.push(
        `resources[${index}]: its name has more than ${MAX_NAME_LENGTH} characters`,
      );
      return;
    }
    yield* this.readNamed(ownName, resource, item, index);
  }

  readRemoval(wireName: string): void {
    this.resourcesRead++;
    const name = this.canonical(wireName);
    if (this.context.isWanted(name) && !this.outcomes.has(name)) this.removed.push(name);
  }

  readError({ resourceName, errorDetail }: ResourceError): void {
    this.resourcesRead++;
    const name = this.canonical(resourceName?.name ?? '');
    if (!this.context.isWanted(name) || this.outcomes.has(name)) return;
    const status = { code: errorDetail?.code ?? 2, details: errorDetail?.message ?? '' };
    this.outcomes.set(name, { kind: 'server-error', status });
  }

  /** A heartbeat counts for the version in use only, and a server may leave the version away. */
  private readHeartbeat({ name: wireName, aliases, version, ttlMs }: ResponseItem, index: number) {
    if (wireName === undefined) {
      this.reject(undefined, index, ['neither a name nor a resource']);
      return;
    }
    for (const name of this.wantedNames(wireName, aliases)) {
      if (this.outcomes.has(name)) continue;
      const cached = this.context.cached(name);
      if (cached?.serverKey !== this.context.server.key) this.outcomes.set(name, { kind: 'lost' });
      else if (version === '' || version === cached.version || this.response.isComplete) {
        this.outcomes.set(name, { kind: 'renewed', ttlMs });
      }
    }
  }

  private *readNamed(
    ownName: string,
    resource: Any,
    item: ResponseItem,
    index: number,
  ): Steps<void> {
    const canonical = this.canonical(ownName);
    if (this.seen.has(canonical)) {
      this.invalid++;
      this.violations.push(`${this.describe(canonical, index)}: more than once in the response`);
      return;
    }
    this.seen.add(canonical);
    for (const name of this.wantedNames(canonical, item.aliases)) {
      yield* this.readWanted(name, resource.value, item, index);
    }
  }

  private *readWanted(
    name: string,
    bytes: Uint8Array,
    item: ResponseItem,
    index: number,
  ): Steps<void> {
    const { server } = this.context;
    const { version, ttlMs } = item;
    const cached = this.context.cached(name);
    if (cached?.serverKey === server.key && areEqual(cached.bytes, bytes)) {
      const accepted = { ...cached, version };
      this.outcomes.set(name, { kind: 'accepted', accepted, change: undefined, ttlMs });
      return;
    }
    const own = toKeep(bytes);
    const decoded = yield* this.whileWanted(name, this.decode(own));
    if (decoded === undefined) return;
    const { result, from } = decoded;
    if (result.ok) this.accept(name, index, item, { ...result, bytes: own, from });
    else this.reject(name, index, result.error, own);
  }

  private accept(
    name: string,
    index: number,
    { version, ttlMs }: ResponseItem,
    { value, record, change, from, bytes }: ReadValue,
  ): void {
    const { server, nowMs, type } = this.context;
    const elements = type.countElements?.(value) ?? 0;
    const added = elements - (this.context.cached(name)?.elements ?? 0);
    const excess = this.describeExcess(elements, added);
    if (excess !== undefined) {
      this.reject(name, index, [excess], bytes);
      return;
    }
    this.addedElements += added;
    const accepted: Accepted<unknown> = {
      // Each on its own, not spread: V8 makes a hidden class for each object with a spread.
      value,
      record,
      bytes,
      version,
      serverKey: server.key,
      updatedAtMs: nowMs,
      elements,
    };
    const valueChange = change === undefined ? undefined : { from, change };
    this.outcomes.set(name, { kind: 'accepted', accepted, change: valueChange, ttlMs });
  }

  /** Describes that a resource with more elements than its previous version exceeds the limit; `undefined` if not. */
  private describeExcess(elements: number, added: number): string | undefined {
    const { elementLimit: limit } = this.context.type;
    if (limit === undefined || added <= 0) return undefined;
    const total = this.context.elementsOf(limit) + this.addedElements + added;
    if (total <= limit.max) return undefined;
    return (
      `${elements} ${limit.noun}, with those of other resources ${total}, ` +
      `exceed the limit ${limit.name} of ${limit.max}`
    );
  }

  /** The names by which a resource is wanted: its own, or others it goes by. */
  private wantedNames(ownName: string, aliases: readonly string[]): readonly string[] {
    const names = aliases.length === 0 ? [ownName] : [...new Set([ownName, ...aliases])];
    return names.map((name) => this.canonical(name)).filter((name) => this.context.isWanted(name));
  }

  private reject(
    wireName: string | undefined,
    index: number,
    violations: readonly string[],
    bytes?: Uint8Array,
  ): void {
    this.invalid++;
    if (wireName === undefined) this.hasNameless = true;
    const name = wireName === undefined ? undefined : this.canonical(wireName);
    const subject = this.describe(name, index);
    for (const violation of violations) this.violations.push(`${subject}: ${violation}`);
    if (name === undefined || !this.context.isWanted(name) || this.outcomes.has(name)) return;
    this.outcomes.set(name, { kind: 'rejected', violations, bytes });
  }

  private peekName(bytes: Uint8Array): string | undefined {
    try {
      return this.context.type.peekName(bytes);
    } catch {
      // Decoding will say what is wrong.
      return undefined;
    }
  }

  /** Stops when the resource is no longer watched. */
  private *whileWanted<T>(name: string, steps: Steps<T>): Steps<T | undefined> {
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      yield;
      if (!this.context.isWanted(name)) return undefined;
    }
  }

  /** Decodes a resource. Returns with it the value that its change starts from. */
  private *decode(
    bytes: Uint8Array,
  ): Steps<{ readonly result: DecodeResult<unknown>; readonly from: unknown }> {
    const { type, server, certificateProviders } = this.context;
    let from: unknown;
    const context: DecodeContext<unknown> = {
      ...{ server, certificateProviders },
      previous: (name) => {
        const previous = this.context.cached(this.canonical(name));
        from = previous?.value;
        return previous;
      },
    };
    try {
      const { result } =
        type.decodeInSteps === undefined
          ? type.decode(bytes, context)
          : yield* type.decodeInSteps(bytes, context);
      return { result, from };
    } catch (error) {
      return { result: err([`cannot be decoded: ${errorMessage(error)}`]), from };
    }
  }

  /** A name that cannot be read was never asked for; under its own spelling it will not be found. */
  private canonical(wireName: string): string {
    const name = this.context.parseName(wireName, this.context.type.typeUrl);
    return name.ok ? name.value.canonical : wireName;
  }

  private describe(name: string | undefined, index: number): string {
    if (name === undefined) return `resources[${index}]`;
    return describeResource({ typeName: this.context.type.typeName, name });
  }
}

/**
 * A resource keeps the memory alive that it is a piece of: a copy, unless it is most of a response anyway. Assignments
 * of large clusters are, and have megabytes.
 */
function toKeep(bytes: Uint8Array): Uint8Array {
  const { buffer, byteOffset, byteLength } = bytes;
  const isMost = 2 * byteLength > buffer.byteLength;
  return isMost ? new Uint8Array(buffer, byteOffset, byteLength) : new Uint8Array(bytes);
}

/** Compares byte by byte, natively. */
function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}
