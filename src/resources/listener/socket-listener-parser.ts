import {
  SocketAddress_Protocol as Protocol,
  type Address,
} from '../../wire/generated/envoy/config/core/v3/address';
import { TrafficDirection } from '../../wire/generated/envoy/config/core/v3/base';
import { Listener } from '../../wire/generated/envoy/config/listener/v3/listener';
import {
  FilterChainMatch,
  type Filter,
  type FilterChain as FilterChainMessage,
} from '../../wire/generated/envoy/config/listener/v3/listener_components';
import { quoteText } from '../../util/text';
import type { Violations } from '../../util/violations';
import type { ParseContext } from '../extension-points';
import { readWhole } from '../encoded/part-reader';
import { parseAddress } from '../shared/address-parser';
import { decodeMessage } from '../shared/any';
import { readExtension } from '../shared/extension-parser';
import { parseDownstreamTls } from '../tls/tls-context-parser';
import { overlaps, parseFilterChainMatch, type ParsedMatch } from './filter-chain-match-parser';
import {
  httpConnectionManagerType,
  readHttpConnectionManager,
} from './http-connection-manager-parser';
import type {
  FilterChain,
  MatchedFilterChain,
  SocketListener,
  UnmatchableFilterChain,
} from './listener';

/** Filter chains of one listener, each of which is compared with all others. */
const MAX_FILTER_CHAINS = 1000;

/** Describes the filter chains that no connection matches; `undefined` if there are none. */
export function describeUnmatchable({ unmatchable }: SocketListener): string | undefined {
  if (unmatchable.length === 0) return undefined;
  const chains = unmatchable.map(({ name, criterion }) => `${quoteText(name)} (${criterion})`);
  return `filter chains that match no connection of a gRPC server, not used: ${chains.join(', ')}`;
}

/** Decodes and validates a listener of a server (gRFC A36); `undefined` after adding a violation. */
export function parseSocketListener(
  bytes: Uint8Array,
  context: ParseContext,
  violations: Violations,
): SocketListener | undefined {
  // What was read of it to find out that it is for servers is read once more.
  violations.budget.renew();
  const message = decodeMessage(Listener, bytes, violations);
  if (message === undefined) return undefined;
  const { name, address, filterChains, defaultFilterChain } = message;
  checkUnsupported(message, violations);
  const addressAt = violations.at('address');
  const parsedAddress = parseAddress(address, addressAt);
  if (parsedAddress === 'unusable') addressAt.at('socket_address').add('field not present');
  if (filterChains.length === 0 && defaultFilterChain === undefined) {
    violations.add('must have filter_chains or default_filter_chain');
  }
  const chainsAt = violations.at('filter_chains');
  const { length } = filterChains;
  if (length > MAX_FILTER_CHAINS) {
    return chainsAt.add(`must not have more than ${MAX_FILTER_CHAINS} entries, but has ${length}`);
  }
  const { chains, unmatchable } = parseFilterChains(filterChains, context, chainsAt);
  // Its match is ignored.
  const defaultAt = violations.at('default_filter_chain');
  defaultAt.budget.renew();
  const defaultChain =
    defaultFilterChain && parseFilterChain(defaultFilterChain, context, defaultAt);
  if (parsedAddress === undefined || parsedAddress === 'unusable') return undefined;
  return {
    kind: 'socket',
    name,
    unmatchable,
    encoded: bytes,
    address: parsedAddress,
    isTcp: isTcp(address),
    filterChains: chains,
    defaultFilterChain: defaultChain,
  };
}

/** Adds what would be unsafe to ignore: the filters and addresses by which other connections would match. */
function checkUnsupported(
  { name, listenerFilters, useOriginalDst, trafficDirection }: Listener,
  violations: Violations,
): void {
  if (name === '') violations.at('name').add('must not be empty');
  if (listenerFilters.length > 0) violations.at('listener_filters').add('must be empty');
  if (useOriginalDst === true) violations.at('use_original_dst').add('must be false');
  if (trafficDirection === TrafficDirection.OUTBOUND) {
    violations.at('traffic_direction').add('must not be OUTBOUND on a listener of a server');
  }
}

function isTcp(address: Address | undefined): boolean {
  const specifier = address?.address;
  return specifier?.$case === 'socketAddress' && specifier.value.protocol === Protocol.TCP;
}

interface ParsedFilterChains {
  readonly chains: readonly MatchedFilterChain[];
  readonly unmatchable: readonly UnmatchableFilterChain[];
}

/** Parses filter chains, each within the budget of one message, and compares the matches of all. */
function parseFilterChains(
  messages: readonly FilterChainMessage[],
  context: ParseContext,
  violations: Violations,
): ParsedFilterChains {
  const chains: MatchedFilterChain[] = [];
  const unmatchable: UnmatchableFilterChain[] = [];
  const matches: (ParsedMatch | undefined)[] = [];
  for (const [i, message] of messages.entries()) {
    const at = violations.index(i);
    at.budget.renew();
    const chain = parseFilterChain(message, context, at);
    const matchAt = at.at('filter_chain_match');
    const match = parseFilterChainMatch(message.filterChainMatch ?? ANY_CONNECTION, matchAt);
    checkUnique(match, matches, matchAt);
    matches.push(match);
    if (match === undefined) continue;
    const { unmatchable: criterion, value } = match;
    if (criterion !== undefined) unmatchable.push({ name: message.name, criterion });
    else if (chain !== undefined) chains.push({ ...chain, match: value });
  }
  return { chains, unmatchable };
}

const ANY_CONNECTION = FilterChainMatch.create();

/** Adds a violation for a match that has a combination of criteria in common with an earlier one. */
function checkUnique(
  match: ParsedMatch | undefined,
  earlier: readonly (ParsedMatch | undefined)[],
  violations: Violations,
): void {
  if (match === undefined) return;
  const same = earlier.findIndex((other) => other !== undefined && overlaps(match, other));
  if (same !== -1) violations.add(`has the same matching criteria as filter_chains[${same}]`);
}

/** Parses a filter chain without its match; `undefined` after adding a violation. */
function parseFilterChain(
  { name, filters, transportSocket }: FilterChainMessage,
  context: ParseContext,
  violations: Violations,
): FilterChain | undefined {
  const httpConnectionManager = parseNetworkFilters(filters, context, violations.at('filters'));
  const before = violations.count;
  const { regexes, certificateProviders = new Set() } = context;
  const certificates = { regexes, certificateProviders, readSystemRoots: false };
  const at = violations.at('transport_socket');
  const tls = transportSocket && parseDownstreamTls(transportSocket, certificates, at);
  if (httpConnectionManager === undefined || violations.count > before) return undefined;
  return { name, httpConnectionManager, tls };
}

/** The one filter that there may be is an HttpConnectionManager, which must be the last (gRFC A36). */
function parseNetworkFilters(
  filters: readonly Filter[],
  context: ParseContext,
  violations: Violations,
): FilterChain['httpConnectionManager'] | undefined {
  if (filters.length === 0) return violations.add('must have an HttpConnectionManager');
  let manager: FilterChain['httpConnectionManager'] | undefined;
  const names = new Set<string>();
  for (const [i, { name, configType }] of filters.entries()) {
    const at = violations.index(i);
    if (name === '') at.at('name').add('must not be empty');
    else if (names.has(name)) at.at('name').add(`duplicate name ${quoteText(name)}`);
    names.add(name);
    const configAt = at.at('typed_config');
    const extension = readExtension(configType?.value, configAt);
    if (extension === undefined) continue;
    if (extension.typeName !== httpConnectionManagerType.typeName) {
      configAt.add(`unsupported network filter ${extension.typeName}`);
    } else if (extension.kind === 'json') configAt.add('must be a message, not a TypedStruct');
    else if (i < filters.length - 1) at.add('an HttpConnectionManager must be the last filter');
    else {
      const { forServers } = context.extensions.httpFilters;
      manager = readWhole(
        readHttpConnectionManager(extension.bytes, context, forServers, configAt),
      );
    }
  }
  return manager;
}
