import {
  HttpConnectionManager as HttpConnectionManagerMessage,
  type Rds,
} from '../../wire/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager';
import { FieldScanner } from '../../wire/protobuf/field-scanner';
import { assertNever } from '../../util/errors';
import { durationToMs } from '../../util/duration';
import { LIST_LIMIT } from '../../util/limits';
import { ReadBudget } from '../../util/read-budget';
import type { Violations } from '../../util/violations';
import type { HttpFilterParser, ParseContext } from '../extension-points';
import { mapReader, readerOf, type PartReader } from '../encoded/part-reader';
import { readRouteConfig } from '../route-config/route-config-parser';
import { decodePieces, type PieceField } from '../shared/any';
import { checkConfigSource } from '../resource-parser';
import { parseHttpFilters } from './http-filters-parser';
import type { HttpConnectionManager, RouteSource } from './listener';

export const httpConnectionManagerType = {
  typeName: 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
  decoder: HttpConnectionManagerMessage,
};

/** A connection manager, and its inline route configuration, encoded. */
interface EncodedManager {
  readonly message: HttpConnectionManagerMessage;
  readonly routeConfig: Uint8Array | undefined;
}

const ROUTE_CONFIG: PieceField = { number: 4, name: 'route_config' };

/** The fields `rds` and `scoped_routes`, members of the same oneof. */
const OTHER_SPECIFIERS = [3, 31];

/**
 * Returns a reader that decodes and validates a connection manager of a listener (gRFCs A27, A31, A36, A39, A41). It finishes with
 * `undefined` after adding a violation.
 *
 * @param filters The HTTP filters that the side which uses the listener can run.
 */
export function readHttpConnectionManager(
  bytes: Uint8Array,
  context: ParseContext,
  filters: HttpFilterParser,
  violations: Violations,
): PartReader<HttpConnectionManager | undefined> {
  const encoded = decodeManager(bytes, violations);
  if (encoded === undefined) return readerOf(undefined);
  const { message, routeConfig } = encoded;
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
    filters,
    context.server,
    violations.at('http_filters'),
  );
  const source =
    routeConfig === undefined
      ? readerOf(parseRoutes(message.routeSpecifier, violations))
      : readInlineRoutes(routeConfig, context, violations.at(ROUTE_CONFIG.name));
  return mapReader(source, (routes) => routes && { routes, httpFilters, maxStreamDurationMs });
}

/** Leaves the inline route configuration encoded: it may be large. */
function decodeManager(bytes: Uint8Array, violations: Violations): EncodedManager | undefined {
  const pieces = decodePieces(HttpConnectionManagerMessage, bytes, ROUTE_CONFIG, violations);
  if (pieces === undefined) return undefined;
  const { message, bounds } = pieces;
  const other = message.routeSpecifier === undefined ? 0 : lastOtherSpecifier(bytes);
  const slices: Uint8Array[] = [];
  for (let i = 0; i < bounds.length; i += 2) {
    const start = bounds[i] ?? 0;
    if (start > other) slices.push(bytes.subarray(start, bounds[i + 1]));
  }
  return { message, routeConfig: slices.length > 1 ? Buffer.concat(slices) : slices[0] };
}

/**
 * Returns where the last source of routes that is not inline begins. Of several members of a oneof the last one applies; the
 * encodings of a message in several fields, one after the other, are the merged message.
 */
function lastOtherSpecifier(bytes: Uint8Array): number {
  const scanner = new FieldScanner(bytes, new ReadBudget(LIST_LIMIT));
  let position = 0;
  while (scanner.next()) {
    if (OTHER_SPECIFIERS.some((number) => scanner.isDelimited(number))) position = scanner.tagStart;
  }
  return position;
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

function readInlineRoutes(
  bytes: Uint8Array,
  context: ParseContext,
  violations: Violations,
): PartReader<RouteSource | undefined> {
  return mapReader(
    readRouteConfig(bytes, context, violations),
    (routeConfig) => routeConfig && { kind: 'inline', routeConfig },
  );
}

/** Parses the source of routes that are not inline. */
function parseRoutes(
  specifier: HttpConnectionManagerMessage['routeSpecifier'],
  violations: Violations,
): RouteSource | undefined {
  switch (specifier?.$case) {
    case 'rds':
      return parseRds(specifier.value, violations.at('rds'));
    case 'scopedRoutes':
      return violations.at('scoped_routes').add('unsupported: use rds or route_config');
    // One that is inline is not among the fields that are decoded here.
    case 'routeConfig':
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
