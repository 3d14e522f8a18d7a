import { asBuffer } from '../../util/bytes';
import { MESSAGE_LIMIT, ReadBudget } from '../../util/read-budget';
import { inSteps, type Steps } from '../../util/steps';
import { Violations } from '../../util/violations';
import { RouteConfiguration } from '../../wire/generated/envoy/config/route/v3/route';
import type { ClusterSpecifierPlugin } from '../../wire/generated/envoy/config/route/v3/route_components';
import type { ResourceType, DecodedValue } from '../../xds-client/resource-type';
import {
  createParseContext,
  isTrusted,
  type ExtensionPoints,
  type ParseContext,
} from '../extension-points';
import { ROUTES_LIMIT, createResourceType } from '../resource-parser';
import { decodeMessage, decodePieces, elementsOf, type PieceField } from '../shared/any';
import { readExtension } from '../shared/extension-parser';
import {
  compareSlices,
  restOf,
  sliceMessage,
  type SlicePart,
  type SlicedMessage,
} from '../encoded/sliced-message';
import type { RouteConfigChange, RouteConfigResource, VirtualHost } from './route-config';
import { decodeVirtualHost } from './virtual-host-parser';

/** Small operations that a virtual host takes, besides its routes. */
const VIRTUAL_HOST_SIZE = 16;

/** RDS. An update keeps the identity of the virtual hosts whose bytes did not change. */
export function createRouteConfigResourceType(
  extensions: ExtensionPoints,
): ResourceType<RouteConfigResource, RouteConfigChange> {
  return createResourceType({
    typeName: 'envoy.config.route.v3.RouteConfiguration',
    allResourcesRequiredInSotw: false,
    discoveryService: {
      service: 'envoy.service.route.v3.RouteDiscoveryService',
      noun: 'Routes',
    },
    limit: ROUTES_LIMIT,
    *parse(bytes, { server }, violations) {
      const context = createParseContext(extensions, server);
      const value = yield* decodeRouteConfig(bytes, context, violations);
      return value && { value, record: RoutesRecord.create(bytes, context) };
    },
    describeChange: describeChangedHosts,
    *parseChange(bytes, { value, record }, { server, budget }) {
      if (!(record instanceof RoutesRecord)) return undefined;
      const context = createParseContext(extensions, server);
      return yield* decodeChangedRoutes(bytes, { value, record }, { ...context, budget });
    },
  });
}

function describeChangedHosts(before: RouteConfigResource, after: RouteConfigResource): string {
  const known = new Set(before.virtualHosts);
  const added = after.virtualHosts.filter((host) => !known.delete(host));
  // All of them are new objects where a route configuration is decoded as a whole.
  if (added.length === after.virtualHosts.length && known.size === before.virtualHosts.length) {
    return '';
  }
  const changed = new Set([...known, ...added].map(({ name }) => name));
  return `virtual hosts: ${changed.size} changed`;
}

/** Decodes and validates a route configuration, whether a resource of its own or part of a listener. */
export function* decodeRouteConfig(
  bytes: Uint8Array,
  context: ParseContext,
  violations: Violations,
): Steps<RouteConfigResource | undefined> {
  const pieces = yield* decodePieces(RouteConfiguration, bytes, VIRTUAL_HOSTS, violations);
  if (pieces === undefined) return undefined;
  const { name, clusterSpecifierPlugins } = pieces.message;
  const plugins = parseClusterSpecifierPlugins(
    clusterSpecifierPlugins,
    violations.at('cluster_specifier_plugins'),
  );
  const at = violations.at(VIRTUAL_HOSTS.name);
  const virtualHosts: VirtualHost[] = [];
  const decode = function* (element: Uint8Array, i: number): Steps<void> {
    at.budget.renew();
    const host = yield* decodeVirtualHost(element, plugins, context, at.index(i));
    if (host !== undefined) virtualHosts.push(host);
  };
  yield* inSteps(elementsOf(bytes, pieces.bounds), decode, () => VIRTUAL_HOST_SIZE);
  return { name, virtualHosts };
}

/** A valid route configuration. */
type DecodedRoutes = DecodedValue<RouteConfigResource, RouteConfigChange>;

/** The previous version of a route configuration. */
interface KnownRoutes {
  readonly value: RouteConfigResource;
  readonly record: RoutesRecord;
}

/** The context of the parsers, with what the response leaves of its budget. */
interface ChangeContext extends ParseContext {
  readonly budget: ReadBudget | undefined;
}

/**
 * Decodes a route configuration that differs little from the previous version: only the virtual hosts whose bytes
 * changed. Control planes put all services into one, so most changes do not concern a target.
 *
 * @returns `undefined` for one that differs too much, and for an invalid one, which is then decoded as a whole to report
 * its violations.
 */
function* decodeChangedRoutes(
  bytes: Uint8Array,
  { value: previous, record }: KnownRoutes,
  context: ChangeContext,
): Steps<DecodedRoutes | undefined> {
  if (record.isTrusted !== isTrusted(context.server)) return undefined;
  const comparison = yield* compareSlices(asBuffer(bytes), VIRTUAL_HOSTS.number, record.slices);
  if (comparison === undefined) return undefined;
  const { parts, slices, rest } = comparison;
  if (Buffer.compare(rest, restOf(record.slices)) !== 0) return undefined;
  const budget = new ReadBudget(MESSAGE_LIMIT, new ReadBudget(ROUTES_LIMIT, context.budget));
  const violations = Violations.root(budget);
  const decode = createSliceDecoder(slices.bytes, rest, context, violations);
  const { virtualHosts, change } = yield* join(parts, previous.virtualHosts, decode);
  if (violations.count > 0 || !areRegexesWithinLimit(virtualHosts, context)) return undefined;
  return {
    value: { name: previous.name, virtualHosts },
    record: record.next(slices),
    change,
    isPartial: true,
  };
}

/** Counts the regular expressions of all virtual hosts, also of those kept. */
function areRegexesWithinLimit(
  virtualHosts: readonly VirtualHost[],
  { regexes }: ParseContext,
): boolean {
  return virtualHosts.every((host) => host.regexes.every((regex) => regexes.keep(regex)));
}

type SliceDecoder = (start: number, end: number) => Steps<VirtualHost | undefined>;

function createSliceDecoder(
  bytes: Buffer,
  rest: Uint8Array,
  context: ParseContext,
  violations: Violations,
): SliceDecoder {
  const message = decodeMessage(RouteConfiguration, rest, violations);
  const plugins = parseClusterSpecifierPlugins(message?.clusterSpecifierPlugins ?? [], violations);
  return (start, end) => {
    violations.budget.renew();
    return decodeVirtualHost(bytes.subarray(start, end), plugins, context, violations);
  };
}

/** Joins the virtual hosts: those kept from the previous version, and the new ones. */
function* join(
  parts: readonly SlicePart[],
  previous: readonly VirtualHost[],
  decode: SliceDecoder,
): Steps<Pick<RouteConfigResource, 'virtualHosts'> & { readonly change: RouteConfigChange }> {
  const virtualHosts: VirtualHost[] = [];
  const changed = new Set<string>();
  const present: VirtualHost[] = [];
  let next = 0;
  for (const part of parts) {
    if (part.kind === 'kept') {
      for (const dropped of previous.slice(next, part.from)) changed.add(dropped.name);
      for (const kept of previous.slice(part.from, part.to)) virtualHosts.push(kept);
      next = part.to;
      continue;
    }
    const parsed = yield* decode(part.start, part.end);
    if (parsed === undefined) continue;
    changed.add(parsed.name);
    present.push(parsed);
    virtualHosts.push(parsed);
  }
  for (const dropped of previous.slice(next)) changed.add(dropped.name);
  return { virtualHosts, change: { virtualHosts: changed, present } };
}

/** The field of a route configuration with its virtual hosts. */
const VIRTUAL_HOSTS: PieceField = { number: 2, name: 'virtual_hosts' };

/** The record of a route configuration, with which only the changes of its next version are decoded. */
class RoutesRecord {
  private constructor(
    readonly slices: SlicedMessage,
    /** Whether the server is trusted, on which virtual hosts depend besides their bytes. */
    readonly isTrusted: boolean,
  ) {}

  /** @returns `undefined` if the virtual hosts are not contiguous in the bytes. */
  static create(bytes: Uint8Array, { server }: ParseContext): RoutesRecord | undefined {
    const slices = sliceMessage(asBuffer(bytes), VIRTUAL_HOSTS.number);
    return slices && new RoutesRecord(slices, isTrusted(server));
  }

  /** Returns the record of the next version. */
  next(slices: SlicedMessage): RoutesRecord {
    return new RoutesRecord(slices, this.isTrusted);
  }
}

/**
 * Returns the names of the plugins that routes may refer to. This client has no plugin: one that is not optional is a
 * violation. An optional one is not looked at, and routes that use it are left out.
 */
function parseClusterSpecifierPlugins(
  plugins: readonly ClusterSpecifierPlugin[],
  violations: Violations,
): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [i, { extension, isOptional }] of plugins.entries()) {
    names.add(extension?.name ?? '');
    if (isOptional) continue;
    const at = violations.index(i).at('extension').at('typed_config');
    const config = readExtension(extension?.typedConfig, at);
    if (config !== undefined) at.add(`unsupported cluster specifier plugin ${config.typeName}`);
  }
  return names;
}
