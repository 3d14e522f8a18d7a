import type { ServerConfig } from '../bootstrap/bootstrap';
import {
  DiscoveryResponse,
  Resource,
  type ResourceError,
} from '../generated/envoy/service/discovery/v3/discovery';
import type { Any } from '../generated/google/protobuf/any';
import { errorMessage } from '../util/error-message';
import { err, ok, type Result } from '../util/result';
import { parseResourceName } from './resource-name';
import type { Accepted } from './resource-state';
import type { Decoded, ResourceType } from './resource-type';
import type { StreamStatus } from './transport';
import { describeResource } from './xds-errors';

/** What a response says about one resource that is wanted. */
export type ResourceOutcome =
  | { readonly kind: 'accepted'; readonly accepted: Accepted<unknown> }
  | { readonly kind: 'rejected'; readonly violations: readonly string[] }
  /** The server cannot supply it (gRFC A88). */
  | { readonly kind: 'server-error'; readonly status: StreamStatus };

/** What a response says. */
export interface ReadResources {
  /** By canonical name; only resources that are wanted. */
  readonly outcomes: ReadonlyMap<string, ResourceOutcome>;
  /** Everything that is wrong with the response; each says which resource it is about. Empty means accepted. */
  readonly violations: readonly string[];
  /** How many resources are not valid. */
  readonly invalid: number;
  /** A resource was too broken to tell its name, so one that seems to be left out may be that one. */
  readonly hasNameless: boolean;
}

/** What must be known to judge a response. */
export interface ReadContext {
  readonly type: ResourceType<unknown>;
  readonly server: ServerConfig;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** Whether the errors listed for single resources count (gRFC A88). */
  readonly readResourceErrors: boolean;
  /** Whether anybody watches a resource. */
  isWanted(name: string): boolean;
  /** The value in use, whichever server it is from. */
  cached(name: string): Accepted<unknown> | undefined;
}

const WRAPPER_TYPE_URL = 'type.googleapis.com/envoy.service.discovery.v3.Resource';

/** Decodes a response without looking into its resources. */
export function parseResponse(bytes: Uint8Array): Result<DiscoveryResponse, string> {
  try {
    return ok(DiscoveryResponse.decode(bytes));
  } catch (error) {
    return err(`sent a response that cannot be decoded: ${errorMessage(error)}`);
  }
}

/**
 * Judges each resource of a response on its own (gRFC A46): what is valid counts whatever else is wrong. A
 * resource that nobody wants is not decoded, and one whose bytes are the ones in use is not decoded again.
 */
export function readResources(response: DiscoveryResponse, context: ReadContext): ReadResources {
  const reader = new ResponseReader(response.versionInfo, context);
  response.resources.forEach((resource, index) => reader.readResource(resource, index));
  if (context.readResourceErrors) response.resourceErrors.forEach((e) => reader.readError(e));
  return reader;
}

/** A resource without the message it may be wrapped in. */
interface Unwrapped {
  /** The wrapper's, which can be read when the resource's own cannot. */
  readonly name: string | undefined;
  readonly resource: Any;
}

class ResponseReader implements ReadResources {
  readonly outcomes = new Map<string, ResourceOutcome>();
  readonly violations: string[] = [];
  invalid = 0;
  hasNameless = false;
  private readonly seen = new Set<string>();

  constructor(
    private readonly version: string,
    private readonly context: ReadContext,
  ) {}

  readResource(item: Any, index: number): void {
    const unwrapped = unwrap(item);
    if (!unwrapped.ok) {
      this.reject(unwrapped.error.name, index, [unwrapped.error.reason]);
      return;
    }
    const { name, resource } = unwrapped.value;
    const { type } = this.context;
    if (resource.typeUrl !== type.typeUrl) {
      const reason = `type_url is "${resource.typeUrl}", expected "${type.typeUrl}"`;
      this.reject(name, index, [reason]);
      return;
    }
    const ownName = this.peekName(resource.value);
    if (ownName === undefined) {
      const { result } = this.decode(new Uint8Array(resource.value));
      this.reject(name, index, result.ok ? ['its name cannot be read'] : result.error);
      return;
    }
    this.readNamed(ownName, resource.value, index);
  }

  readError({ resourceName, errorDetail }: ResourceError): void {
    const name = this.canonical(resourceName?.name ?? '');
    if (!this.context.isWanted(name) || this.outcomes.has(name)) return;
    const status = { code: errorDetail?.code ?? 2, details: errorDetail?.message ?? '' };
    this.outcomes.set(name, { kind: 'server-error', status });
  }

  private readNamed(ownName: string, bytes: Uint8Array, index: number): void {
    const name = this.canonical(ownName);
    if (this.seen.has(name)) {
      this.invalid++;
      this.violations.push(`${this.describe(name, index)}: more than once in the response`);
      return;
    }
    this.seen.add(name);
    if (!this.context.isWanted(name)) return;
    const { server, nowMs } = this.context;
    const cached = this.context.cached(name);
    if (cached?.serverKey === server.key && areEqual(cached.bytes, bytes)) {
      this.outcomes.set(name, { kind: 'accepted', accepted: { ...cached, version: this.version } });
      return;
    }
    // A copy, because the original is a piece of the whole response and would keep all of it alive.
    const own = new Uint8Array(bytes);
    const { result } = this.decode(own);
    if (!result.ok) {
      this.reject(name, index, result.error);
      return;
    }
    const accepted: Accepted<unknown> = {
      value: result.value,
      bytes: own,
      version: this.version,
      serverKey: server.key,
      updatedAtMs: nowMs,
    };
    this.outcomes.set(name, { kind: 'accepted', accepted });
  }

  private reject(wireName: string | undefined, index: number, violations: readonly string[]): void {
    this.invalid++;
    if (wireName === undefined) this.hasNameless = true;
    const name = wireName === undefined ? undefined : this.canonical(wireName);
    const subject = this.describe(name, index);
    for (const violation of violations) this.violations.push(`${subject}: ${violation}`);
    if (name === undefined || !this.context.isWanted(name) || this.outcomes.has(name)) return;
    this.outcomes.set(name, { kind: 'rejected', violations });
  }

  private peekName(bytes: Uint8Array): string | undefined {
    try {
      return this.context.type.peekName(bytes);
    } catch {
      // Decoding will say what is wrong.
      return undefined;
    }
  }

  private decode(bytes: Uint8Array): Decoded<unknown> {
    const { type, server } = this.context;
    try {
      return type.decode(bytes, {
        server,
        previous: (name) => this.context.cached(this.canonical(name))?.value,
      });
    } catch (error) {
      return { name: undefined, result: err([`cannot be decoded: ${errorMessage(error)}`]) };
    }
  }

  /** A name that cannot be read was never asked for; under its own spelling it will not be found. */
  private canonical(wireName: string): string {
    const name = parseResourceName(wireName, this.context.type.typeUrl);
    return name.ok ? name.value.canonical : wireName;
  }

  private describe(name: string | undefined, index: number): string {
    if (name === undefined) return `resources[${index}]`;
    return describeResource({ typeName: this.context.type.typeName, name });
  }
}

function unwrap(item: Any): Result<Unwrapped, { name: string | undefined; reason: string }> {
  if (item.typeUrl !== WRAPPER_TYPE_URL) return ok({ name: undefined, resource: item });
  let wrapper: Resource;
  try {
    wrapper = Resource.decode(item.value);
  } catch (error) {
    const reason = `wrapper cannot be decoded: ${errorMessage(error)}`;
    return err({ name: undefined, reason });
  }
  const wrapperName = wrapper.resourceName?.name ?? wrapper.name;
  const name = wrapperName === '' ? undefined : wrapperName;
  if (wrapper.resource === undefined) return err({ name, reason: 'wrapper contains no resource' });
  return ok({ name, resource: wrapper.resource });
}

/** Compares byte by byte, natively. */
function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}
