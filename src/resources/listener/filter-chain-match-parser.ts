import {
  FilterChainMatch_ConnectionSourceType as SourceType,
  type FilterChainMatch as FilterChainMatchMessage,
} from '../../wire/generated/envoy/config/listener/v3/listener_components';
import type { CidrRange as CidrRangeMessage } from '../../wire/generated/envoy/config/core/v3/address';
import { MAX_LISTENER_ELEMENTS } from '../../util/limits';
import type { Violations } from '../../util/violations';
import { cidrText, parseCidrRange, type CidrRange } from '../shared/address-parser';
import { MAX_PORT } from '../shared/socket-address-parser';
import { enumName } from '../../util/enum-name';
import type { ConnectionSource, FilterChainMatch } from './listener';

const sources: ReadonlyMap<SourceType, ConnectionSource> = new Map([
  [SourceType.ANY, 'any'],
  [SourceType.SAME_IP_OR_LOOPBACK, 'same-ip-or-loopback'],
  [SourceType.EXTERNAL, 'external'],
]);

/** The transport protocol of connections that are not TLS. */
const RAW_BUFFER = 'raw_buffer';

/** The match of a filter chain, and what decides whether another chain has a match for the same connections. */
export interface ParsedMatch {
  readonly value: FilterChainMatch;
  /** The criterion that no connection of a gRPC server matches (gRFC A36); `undefined` if there is none. */
  readonly unmatchable: string | undefined;
  /** The criteria with one value each, as a text. */
  readonly key: string;
  /** The criteria with any number of values each; one that is not set has the value `undefined`. */
  readonly criteria: readonly ReadonlySet<string | undefined>[];
}

/** Parses the match of a filter chain (gRFC A36); `undefined` after adding a violation. */
export function parseFilterChainMatch(
  message: FilterChainMatchMessage,
  violations: Violations,
): ParsedMatch | undefined {
  const before = violations.count;
  const { transportProtocol, sourceType, sourcePorts } = message;
  checkLengths(message, violations);
  if (violations.count > before) return undefined;
  const prefixRanges = parseRanges(message.prefixRanges, violations.at('prefix_ranges'));
  const sourceRangesAt = violations.at('source_prefix_ranges');
  const sourcePrefixRanges = parseRanges(message.sourcePrefixRanges, sourceRangesAt);
  if (message.directSourcePrefixRanges.length > 0) {
    violations.at('direct_source_prefix_ranges').add('unsupported: use source_prefix_ranges');
  }
  const source = parseSource(sourceType, violations.at('source_type'));
  for (const [i, port] of sourcePorts.entries()) {
    if (port >= 1 && port <= MAX_PORT) continue;
    violations.at('source_ports').index(i).add(`must be from 1 to ${MAX_PORT}, but is ${port}`);
  }
  if (violations.count > before) return undefined;
  const criteria = [
    parseCriterion(prefixRanges.map(cidrText), violations.at('prefix_ranges')),
    parseCriterion(sourcePrefixRanges.map(cidrText), sourceRangesAt),
    parseCriterion(sourcePorts.map(String), violations.at('source_ports')),
    parseCriterion(message.serverNames, violations.at('server_names')),
    parseCriterion(message.applicationProtocols, violations.at('application_protocols')),
  ];
  if (source === undefined || violations.count > before) return undefined;
  const isRawBuffer = transportProtocol === RAW_BUFFER;
  return {
    value: { prefixRanges, isRawBuffer, source, sourcePrefixRanges, sourcePorts },
    unmatchable: findUnmatchable(message),
    key: `${destinationPortOf(message)} ${source} ${transportProtocol}`,
    criteria,
  };
}

function parseSource(sourceType: SourceType, violations: Violations): ConnectionSource | undefined {
  const source = sources.get(sourceType);
  if (source !== undefined) return source;
  const found = enumName(SourceType, sourceType);
  return violations.add(`must be ANY, SAME_IP_OR_LOOPBACK or EXTERNAL, but is ${found}`);
}

/** Returns whether two matches have a combination of criteria in common, which is not allowed. */
export function overlaps(a: ParsedMatch, b: ParsedMatch): boolean {
  if (a.key !== b.key) return false;
  return a.criteria.every((values, i) => {
    const others = b.criteria[i] ?? new Set();
    for (const value of values) if (others.has(value)) return true;
    return false;
  });
}

/** Returns the values of a criterion; adds a violation for each repetition, with which the match would be its own duplicate. */
function parseCriterion(
  values: readonly string[],
  violations: Violations,
): ReadonlySet<string | undefined> {
  if (values.length === 0) return NOT_SET;
  const indices = new Map<string, number>();
  for (const [i, value] of values.entries()) {
    const earlier = indices.get(value);
    if (earlier === undefined) indices.set(value, i);
    else violations.index(i).add(`is the same as [${earlier}]`);
  }
  return new Set(indices.keys());
}

const NOT_SET: ReadonlySet<string | undefined> = new Set([undefined]);

/** What a server could know of a connection only by reading it before a filter chain is chosen never matches. */
function findUnmatchable(message: FilterChainMatchMessage): string | undefined {
  const { serverNames, transportProtocol, applicationProtocols } = message;
  if (destinationPortOf(message) !== 0) return 'destination_port';
  if (serverNames.length > 0) return 'server_names';
  if (transportProtocol !== '' && transportProtocol !== RAW_BUFFER) return 'transport_protocol';
  return applicationProtocols.length > 0 ? 'application_protocols' : undefined;
}

/** 0 is unset, as in other implementations. */
function destinationPortOf({ destinationPort = 0 }: FilterChainMatchMessage): number {
  return destinationPort;
}

function checkLengths(message: FilterChainMatchMessage, violations: Violations): void {
  const lists = {
    prefix_ranges: message.prefixRanges,
    source_prefix_ranges: message.sourcePrefixRanges,
    source_ports: message.sourcePorts,
    server_names: message.serverNames,
    application_protocols: message.applicationProtocols,
  };
  for (const [field, { length }] of Object.entries(lists)) {
    if (length <= MAX_LISTENER_ELEMENTS) continue;
    violations
      .at(field)
      .add(`must not have more than ${MAX_LISTENER_ELEMENTS} entries, but has ${length}`);
  }
}

function parseRanges(
  ranges: readonly CidrRangeMessage[],
  violations: Violations,
): readonly CidrRange[] {
  return ranges
    .map((range, i) => parseCidrRange(range, violations.index(i)))
    .filter((range) => range !== undefined);
}
