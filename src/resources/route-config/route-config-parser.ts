import { RouteConfiguration } from '../../generated/envoy/config/route/v3/route';
import {
  VirtualHost as VirtualHostMessage,
  type ClusterSpecifierPlugin,
} from '../../generated/envoy/config/route/v3/route_components';
import { asBuffer } from '../../util/as-buffer';
import { Violations } from '../../util/violations';
import type { ResourceType, DecodedValue, PreviousVersion } from '../../xds-client/resource-type';
import {
  createParseContext,
  isTrusted,
  type ExtensionPoints,
  type ParseContext,
} from '../extension-points';
import { decodeMessage } from '../shared/any';
import { readExtension } from '../shared/extension-parser';
import { createResourceType } from '../shared/resource-decoder';
import { compareSlices, type SlicePart } from '../wire/slice-comparison';
import { restOf, sliceMessage, type SlicedMessage } from '../wire/sliced-message';
import type { RouteConfigChange, RouteConfigResource, VirtualHost } from './route-config';
import { parseVirtualHost } from './virtual-host-parser';

const VIRTUAL_HOSTS_FIELD = 2;

/** RDS. An update keeps the identity of the virtual hosts whose bytes did not change. */
export function createRouteConfigResourceType(
  extensions: ExtensionPoints,
): ResourceType<RouteConfigResource, RouteConfigChange> {
  return createResourceType({
    typeName: 'envoy.config.route.v3.RouteConfiguration',
    decoder: RouteConfiguration,
    allResourcesRequiredInSotw: false,
    discoveryService: {
      service: 'envoy.service.route.v3.RouteDiscoveryService',
      noun: 'Routes',
    },
    parse(message, { server }, violations, bytes) {
      const context = createParseContext(extensions, server);
      const value = parseRouteConfig(message, context, violations);
      return { value, record: RoutesRecord.create(bytes, context) };
    },
    describeChange: ({ virtualHosts }) => `virtual hosts: ${virtualHosts.size} changed`,
    parseChange: (bytes, previous, { server }) =>
      decodeChangedRoutes(bytes, previous, createParseContext(extensions, server)),
  });
}

/** Validates a route configuration, whether a resource of its own or part of a listener. */
export function parseRouteConfig(
  message: RouteConfiguration,
  context: ParseContext,
  violations: Violations,
): RouteConfigResource {
  const plugins = parseClusterSpecifierPlugins(
    message.clusterSpecifierPlugins,
    violations.at('cluster_specifier_plugins'),
  );
  const virtualHosts = message.virtualHosts.map((virtualHost, i) =>
    parseVirtualHost(virtualHost, plugins, context, violations.at('virtual_hosts').index(i)),
  );
  return { name: message.name, virtualHosts };
}

/** The record of a route configuration, with which only the changes of its next version are decoded. */
class RoutesRecord {
  private constructor(
    readonly slices: SlicedMessage,
    /** Whether the server is trusted, on which virtual hosts depend besides their bytes. */
    readonly isTrusted: boolean,
  ) {}

  /** @returns `undefined` if the virtual hosts are not contiguous in the bytes. */
  static create(bytes: Uint8Array, { server }: ParseContext): RoutesRecord | undefined {
    const slices = sliceMessage(asBuffer(bytes), VIRTUAL_HOSTS_FIELD);
    return slices && new RoutesRecord(slices, isTrusted(server));
  }

  /** Returns the record of the next version. */
  next(slices: SlicedMessage): RoutesRecord {
    return new RoutesRecord(slices, this.isTrusted);
  }
}

/** A valid route configuration. */
type DecodedRoutes = DecodedValue<RouteConfigResource, RouteConfigChange>;

/**
 * Decodes a route configuration that differs little from the previous version: only the virtual hosts whose bytes
 * changed. Control planes put all services into one, so most changes do not concern a target.
 *
 * @returns `undefined` for one that differs too much, and for an invalid one, which is then decoded as a whole to report
 * its violations.
 */
function decodeChangedRoutes(
  bytes: Uint8Array,
  { value: previous, record }: PreviousVersion<RouteConfigResource>,
  context: ParseContext,
): DecodedRoutes | undefined {
  if (!(record instanceof RoutesRecord) || record.isTrusted !== isTrusted(context.server)) {
    return undefined;
  }
  const comparison = compareSlices(asBuffer(bytes), VIRTUAL_HOSTS_FIELD, record.slices);
  if (comparison === undefined) return undefined;
  const { parts, slices, rest } = comparison;
  if (Buffer.compare(rest, restOf(record.slices)) !== 0) return undefined;
  const violations = Violations.root();
  const parse = createSliceParser(slices.bytes, rest, context, violations);
  const { virtualHosts, change } = join(parts, previous.virtualHosts, parse);
  if (violations.count > 0 || !areRegexesWithinLimit(virtualHosts, context)) return undefined;
  return { value: { name: previous.name, virtualHosts }, record: record.next(slices), change };
}

/** Counts the regular expressions of all virtual hosts, also of those kept. */
function areRegexesWithinLimit(
  virtualHosts: readonly VirtualHost[],
  { regexes }: ParseContext,
): boolean {
  return virtualHosts.every((host) => host.regexes.every((regex) => regexes.keep(regex)));
}

type SliceParser = (start: number, end: number) => VirtualHost | undefined;

function createSliceParser(
  bytes: Buffer,
  rest: Uint8Array,
  context: ParseContext,
  violations: Violations,
): SliceParser {
  const message = decodeMessage(RouteConfiguration, rest, violations);
  const plugins = parseClusterSpecifierPlugins(message?.clusterSpecifierPlugins ?? [], violations);
  return (start, end) => {
    const host = decodeMessage(VirtualHostMessage, bytes.subarray(start, end), violations);
    return host && parseVirtualHost(host, plugins, context, violations);
  };
}

/** Joins the virtual hosts: those kept from the previous version, and the new ones. */
function join(
  parts: readonly SlicePart[],
  previous: readonly VirtualHost[],
  parse: SliceParser,
): Pick<RouteConfigResource, 'virtualHosts'> & { readonly change: RouteConfigChange } {
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
    const parsed = parse(part.start, part.end);
    if (parsed === undefined) continue;
    changed.add(parsed.name);
    present.push(parsed);
    virtualHosts.push(parsed);
  }
  for (const dropped of previous.slice(next)) changed.add(dropped.name);
  return { virtualHosts, change: { virtualHosts: changed, present } };
}

/**
 * Returns the names of the plugins that routes may refer to. This client has no plugin: one that is not optional is a
 * violation, and routes that use an optional one are left out.
 */
function parseClusterSpecifierPlugins(
  plugins: readonly ClusterSpecifierPlugin[],
  violations: Violations,
): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [i, { extension, isOptional }] of plugins.entries()) {
    const at = violations.index(i).at('extension');
    if (extension === undefined) {
      at.add('field not present');
      continue;
    }
    const { name, typedConfig } = extension;
    if (names.has(name)) at.at('name').add(`duplicate name ${JSON.stringify(name)}`);
    names.add(name);
    const config = readExtension(typedConfig, at.at('typed_config'));
    if (config !== undefined && !isOptional) {
      at.at('typed_config').add(`unsupported cluster specifier plugin ${config.typeName}`);
    }
  }
  return names;
}
