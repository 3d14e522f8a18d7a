import { asBuffer } from '../../util/bytes';
import { inSteps, type Steps } from '../../util/steps';
import type { Violations } from '../../util/violations';
import { RouteConfiguration } from '../../wire/generated/envoy/config/route/v3/route';
import type { ClusterSpecifierPlugin } from '../../wire/generated/envoy/config/route/v3/route_components';
import type { PreviousVersion, ResourceType } from '../../xds-client/resource-type';
import {
  createParseContext,
  isTrusted,
  type ExtensionPoints,
  type ParseContext,
} from '../extension-points';
import { ROUTES_LIMIT, createResourceType } from '../resource-parser';
import { decodeMessage, decodePieces, type PieceField } from '../shared/any';
import { readExtension } from '../shared/extension-parser';
import {
  allNew,
  compareSlices,
  restOf,
  toSlices,
  type SlicePart,
  type SlicedMessage,
} from '../encoded/sliced-message';
import type { RouteConfigResource, VirtualHost } from './route-config';
import { decodeVirtualHost } from './virtual-host-parser';

/** Small operations that a virtual host takes, besides its routes. */
const VIRTUAL_HOST_SIZE = 16;

/** RDS. An update keeps the identity of the virtual hosts whose bytes did not change. */
export function createRouteConfigResourceType(
  extensions: ExtensionPoints,
): ResourceType<RouteConfigResource> {
  return createResourceType({
    typeName: 'envoy.config.route.v3.RouteConfiguration',
    allResourcesRequiredInSotw: false,
    discoveryService: {
      service: 'envoy.service.route.v3.RouteDiscoveryService',
      noun: 'Routes',
    },
    limit: ROUTES_LIMIT,
    describeChange: describeChangedHosts,
    *parse(bytes, { server, previous }, violations) {
      const context = createParseContext(extensions, server);
      const known = previous && knownRoutes(previous, isTrusted(server));
      const pieces = yield* splitRouteConfig(asBuffer(bytes), known, violations);
      if (pieces === undefined) return undefined;
      const value = yield* decodeHosts(pieces, context, violations);
      const { slices } = pieces;
      const record = slices && new RoutesRecord(slices, isTrusted(server));
      return { value, record, isPartial: pieces.known !== undefined };
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

/** Decodes and validates a route configuration that is part of a listener. */
export function* decodeRouteConfig(
  bytes: Uint8Array,
  context: ParseContext,
  violations: Violations,
): Steps<RouteConfigResource | undefined> {
  const pieces = yield* splitRouteConfig(asBuffer(bytes), undefined, violations);
  return pieces && (yield* decodeHosts(pieces, context, violations));
}

/** The previous version of a route configuration. */
interface KnownRoutes {
  readonly virtualHosts: readonly VirtualHost[];
  readonly slices: SlicedMessage;
}

/** Returns the previous version, if what its virtual hosts depend on besides their bytes is the same. */
function knownRoutes(
  { value, record }: PreviousVersion<RouteConfigResource>,
  trusted: boolean,
): KnownRoutes | undefined {
  if (!(record instanceof RoutesRecord) || record.isTrusted !== trusted) return undefined;
  return { virtualHosts: value.virtualHosts, slices: record.slices };
}

/** An encoded route configuration. */
interface RouteConfigPieces {
  /** Without its virtual hosts. */
  readonly message: RouteConfiguration;
  readonly bytes: Buffer;
  /** The virtual hosts in order. Those kept are elements of the previous version. */
  readonly parts: readonly SlicePart[];
  readonly known: KnownRoutes | undefined;
  /** Where the virtual hosts are; `undefined` if other fields are between them. */
  readonly slices: SlicedMessage | undefined;
}

/**
 * Finds the virtual hosts. Control planes put all services into one route configuration, so most changes concern few of them: the
 * others are those of the previous version.
 *
 * @returns `undefined` after adding a violation.
 */
function* splitRouteConfig(
  bytes: Buffer,
  known: KnownRoutes | undefined,
  violations: Violations,
): Steps<RouteConfigPieces | undefined> {
  if (known !== undefined) {
    const compared = yield* compareSlices(bytes, VIRTUAL_HOSTS.number, known.slices);
    // Virtual hosts depend on the plugins, too.
    if (compared !== undefined && restOf(known.slices).equals(compared.rest)) {
      const { parts, rest, slices } = compared;
      const message = decodeMessage(RouteConfiguration, rest, violations);
      return message && { message, bytes, parts, known, slices };
    }
  }
  const split = yield* decodePieces(RouteConfiguration, bytes, VIRTUAL_HOSTS, violations);
  if (split === undefined) return undefined;
  const { bounds, message } = split;
  return {
    message,
    bytes,
    parts: allNew(bounds),
    known: undefined,
    slices: toSlices(bytes, split),
  };
}

/** Decodes the virtual hosts that are not kept. */
function* decodeHosts(
  { message, bytes, parts, known, slices }: RouteConfigPieces,
  context: ParseContext,
  violations: Violations,
): Steps<RouteConfigResource> {
  const { name, clusterSpecifierPlugins } = message;
  const offsets = slices?.offsets ?? [];
  const plugins = parseClusterSpecifierPlugins(
    clusterSpecifierPlugins,
    violations.at('cluster_specifier_plugins'),
  );
  const at = violations.at(VIRTUAL_HOSTS.name);
  const virtualHosts: VirtualHost[] = [];
  let index = 0;
  const decode = function* (start: number, end: number): Steps<void> {
    at.budget.renew();
    const host = yield* decodeVirtualHost(
      bytes.subarray(start, end),
      plugins,
      context,
      at.index(index),
    );
    if (host !== undefined) virtualHosts.push(host);
  };
  const read = function* (part: SlicePart): Steps<void> {
    if (part.kind === 'new') {
      yield* decode(part.start, part.end);
      index++;
      return;
    }
    for (const host of known?.virtualHosts.slice(part.from, part.to) ?? []) {
      // Decoding it again says which one exceeds the limit.
      if (host.regexes.every((regex) => context.regexes.keep(regex))) virtualHosts.push(host);
      else yield* decode(offsets[2 * index] ?? 0, offsets[2 * index + 1] ?? 0);
      index++;
    }
  };
  yield* inSteps(parts, read, () => VIRTUAL_HOST_SIZE);
  return { name, virtualHosts };
}

/** The field of a route configuration with its virtual hosts. */
const VIRTUAL_HOSTS: PieceField = { number: 2, name: 'virtual_hosts' };

/** The record of a route configuration, with which only the changes of its next version are decoded. */
class RoutesRecord {
  constructor(
    readonly slices: SlicedMessage,
    /** Whether the server is trusted, on which virtual hosts depend besides their bytes. */
    readonly isTrusted: boolean,
  ) {}
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
