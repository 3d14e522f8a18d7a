import type {
  HttpConnectionManager as HttpConnectionManagerMessage,
  Rds,
} from '../generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager';
import { assertNever } from '../util/assert-never';
import { durationToMs } from '../util/duration';
import type { Violations } from '../util/violations';
import { parseHttpFilters } from './http-filters-parser';
import type { HttpConnectionManager, RouteSource } from './listener';
import type { ParseContext } from './parse-context';
import { parseRouteConfig } from './route-config-parser';
import { checkConfigSource } from './shared/config-source-parser';

/** Validates what concerns a client (gRFCs A27, A31, A39, A41); `undefined` after adding a violation. */
export function parseHttpConnectionManager(
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
      violations.at('scoped_routes').add('unsupported: use rds or route_config');
      return undefined;
    case undefined:
      violations.add('must have rds or route_config');
      return undefined;
    default:
      return assertNever(specifier);
  }
}

function parseRds({ configSource, routeConfigName }: Rds, violations: Violations): RouteSource {
  checkConfigSource(configSource, ['ads', 'self'], violations.at('config_source'));
  if (routeConfigName === '') violations.at('route_config_name').add('must not be empty');
  return { kind: 'rds', routeConfigName };
}
