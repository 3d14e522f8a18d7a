import { RouteConfiguration } from '../../generated/envoy/config/route/v3/route';
import type { Violations } from '../../util/violations';
import type { ResourceType } from '../../xds-client/resource-type';
import { createParseContext, type ExtensionPoints, type ParseContext } from '../extension-points';
import { createResourceType } from '../shared/resource-decoder';
import { decodeChangedRoutes } from './changed-routes-parser';
import { parseClusterSpecifierPlugins } from './cluster-specifier-plugins-parser';
import type { RouteConfigChange, RouteConfigResource } from './route-config';
import { RoutesRecord } from './routes-record';
import { parseVirtualHost } from './virtual-host-parser';

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
    parseChange(bytes, { value, record }, { server }) {
      if (!(record instanceof RoutesRecord)) return undefined;
      const context = createParseContext(extensions, server);
      return decodeChangedRoutes(bytes, { value, record }, context);
    },
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
