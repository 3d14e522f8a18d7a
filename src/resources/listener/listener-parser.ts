import { Listener } from '../../generated/envoy/config/listener/v3/listener';
import {
  HttpConnectionManager as HttpConnectionManagerMessage,
  type Rds,
} from '../../generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager';
import { assertNever } from '../../util/assert-never';
import { durationToMs } from '../../util/duration';
import type { Violations } from '../../util/violations';
import type { ResourceType } from '../../xds-client/resource-type';
import { createParseContext, type ExtensionPoints, type ParseContext } from '../extension-points';
import { parseRouteConfig } from '../route-config/route-config-parser';
import { unpackAny } from '../shared/any';
import { checkConfigSource } from '../shared/config-source-parser';
import { createResourceType } from '../shared/resource-decoder';
import { parseHttpFilters } from './http-filters-parser';
import type { ListenerResource, HttpConnectionManager, RouteSource } from './listener';

const httpConnectionManagerType = {
  typeName: 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
  decoder: HttpConnectionManagerMessage,
};

/** LDS. */
export function createListenerResourceType(
  extensions: ExtensionPoints,
): ResourceType<ListenerResource> {
  return createResourceType({
    typeName: 'envoy.config.listener.v3.Listener',
    decoder: Listener,
    allResourcesRequiredInSotw: true,
    discoveryService: {
      service: 'envoy.service.listener.v3.ListenerDiscoveryService',
      noun: 'Listeners',
    },
    parse(message, { server }, violations) {
      const value = parseListener(message, createParseContext(extensions, server), violations);
      return value && { value };
    },
  });
}

/** Parses a listener. One with both an API listener and an address, as Istio sends it, is for clients (gRFC A27). */
function parseListener(
  { name, address, apiListener }: Listener,
  context: ParseContext,
  violations: Violations,
): ListenerResource | undefined {
  if (apiListener === undefined) {
    if (address !== undefined) return { kind: 'socket-listener', name };
    return violations.add('must have api_listener, as a listener for clients, or address');
  }
  const at = violations.at('api_listener').at('api_listener');
  const message = unpackAny(apiListener.apiListener, httpConnectionManagerType, at);
  const httpConnectionManager = message && parseHttpConnectionManager(message, context, at);
  return httpConnectionManager && { kind: 'api-listener', name, httpConnectionManager };
}

/** Parses the fields that concern a client (gRFCs A27, A31, A39, A41); `undefined` after adding a violation. */
function parseHttpConnectionManager(
  message: HttpConnectionManagerMessage,
  context: ParseContext,
  violations: Violations,
): HttpConnectionManager | undefined {
  checkClientAddress(message, violations);
  const maxStreamDuration = message.commonHttpProtocolOptions?.maxStreamDuration;
  const maxStreamDurationMs =
    maxStreamDuration &&
    durationToMs(
      maxStreamDuration,
      violations.at('common_http_protocol_options').at('max_stream_duration'),
    );
  const httpFilters = parseHttpFilters(
    message.httpFilters,
    context.extensions.httpFilters,
    violations.at('http_filters'),
  );
  const routes = parseRoutes(message.routeSpecifier, context, violations);
  return routes && { routes, httpFilters, maxStreamDurationMs };
}

/** Ways to find the address of the original client would weaken access control on servers (gRFC A41). */
function checkClientAddress(message: HttpConnectionManagerMessage, violations: Violations): void {
  const { xffNumTrustedHops, originalIpDetectionExtensions } = message;
  if (xffNumTrustedHops !== 0) {
    violations.at('xff_num_trusted_hops').add(`must be 0, not ${xffNumTrustedHops}`);
  }
  if (originalIpDetectionExtensions.length > 0) {
    violations.at('original_ip_detection_extensions').add('must be empty');
  }
}

function parseRoutes(
  specifier: HttpConnectionManagerMessage['routeSpecifier'],
  context: ParseContext,
  violations: Violations,
): RouteSource | undefined {
  switch (specifier?.$case) {
    case 'rds':
      return parseRds(specifier.value, violations.at('rds'));
    case 'routeConfig': {
      const at = violations.at('route_config');
      return { kind: 'inline', routeConfig: parseRouteConfig(specifier.value, context, at) };
    }
    case 'scopedRoutes':
      return violations.at('scoped_routes').add('unsupported: use rds or route_config');
    case undefined:
      return violations.add('must have rds or route_config');
    default:
      return assertNever(specifier);
  }
}

function parseRds({ configSource, routeConfigName }: Rds, violations: Violations): RouteSource {
  checkConfigSource(configSource, ['ads', 'self'], violations.at('config_source'));
  if (routeConfigName === '') violations.at('route_config_name').add('must not be empty');
  return { kind: 'rds', routeConfigName };
}
