import { RouteConfiguration } from '../../wire/generated/envoy/config/route/v3/route';
import type { Steps } from '../../util/steps';
import type { Violations } from '../../util/violations';
import type { ResourceType } from '../../xds-client/resource-type';
import { createParseContext, type ExtensionPoints, type ParseContext } from '../extension-points';
import { decodePieces } from '../shared/any';
import { ROUTES_LIMIT } from '../shared/read-limits';
import { createResourceType } from '../resource-parser';
import { decodeChangedRoutes } from './changed-routes-parser';
import { parseClusterSpecifierPlugins } from './cluster-specifier-plugins-parser';
import type { RouteConfigChange, RouteConfigResource, VirtualHost } from './route-config';
import { RoutesRecord, VIRTUAL_HOSTS } from './routes-record';
import { decodeVirtualHost } from './virtual-host-parser';

/** Virtual hosts that are decoded in one step, if they are small. */
const VIRTUAL_HOSTS_PER_STEP = 16;

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
    describeChange: ({ virtualHosts }) => `virtual hosts: ${virtualHosts.size} changed`,
    *parseChange(bytes, { value, record }, { server, budget }) {
      if (!(record instanceof RoutesRecord)) return undefined;
      const context = createParseContext(extensions, server);
      return yield* decodeChangedRoutes(bytes, { value, record }, { ...context, budget });
    },
  });
}

/** Decodes and validates a route configuration, whether a resource of its own or part of a listener. */
export function* decodeRouteConfig(
  bytes: Uint8Array,
  context: ParseContext,
  violations: Violations,
): Steps<RouteConfigResource | undefined> {
  const pieces = decodePieces(RouteConfiguration, bytes, VIRTUAL_HOSTS, violations);
  if (pieces === undefined) return undefined;
  const { name, clusterSpecifierPlugins } = pieces.message;
  const plugins = parseClusterSpecifierPlugins(
    clusterSpecifierPlugins,
    violations.at('cluster_specifier_plugins'),
  );
  const at = violations.at(VIRTUAL_HOSTS.name);
  const virtualHosts: VirtualHost[] = [];
  for (let i = 0; i < pieces.bounds.length; i += 2) {
    if ((i / 2) % VIRTUAL_HOSTS_PER_STEP === VIRTUAL_HOSTS_PER_STEP - 1) yield;
    at.budget.renew();
    const slice = bytes.subarray(pieces.bounds[i], pieces.bounds[i + 1]);
    const host = yield* decodeVirtualHost(slice, plugins, context, at.index(i / 2));
    if (host !== undefined) virtualHosts.push(host);
  }
  return { name, virtualHosts };
}
