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
import { MAX_LISTENER_ELEMENTS } from '../../util/limits';
import { quoteText } from '../../util/text';
import type { Violations } from '../../util/violations';
import type { ParseContext } from '../extension-points';
import { ListReader, mapReader, readerOf, type PartReader } from '../encoded/part-reader';
import { parseAddress } from '../shared/socket-address-parser';
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
  HttpConnectionManager,
  MatchedFilterChain,
  SocketListener,
  UnmatchableFilterChain,
} from './listener';

/** Describes the filter chains that no connection matches; `undefined` if there are none. */
export function describeUnmatchable({ unmatchable }: SocketListener): string | undefined {
  if (unmatchable.length === 0) return undefined;
  const chains = unmatchable.map(({ name, criterion }) => `${quoteText(name)} (${criterion})`);
  return `filter chains that match no connection of a gRPC server, not used: ${chains.join(', ')}`;
}

/**
 * Returns a reader that decodes and validates a listener of a server (gRFC A36). It finishes with `undefined` after adding a
 * violation.
 */
export function readSocketListener(
  bytes: Uint8Array,
  context: ParseContext,
  violations: Violations,
): PartReader<SocketListener | undefined> {
  // What was read of it to find out that it is for servers is read once more.
  violations.budget.renew();
  const message = decodeMessage(Listener, bytes, violations);
  if (message === undefined) return readerOf(undefined);
  const { name, address: encodedAddress, filterChains, defaultFilterChain } = message;
  checkUnsupported(message, violations);
  const addressAt = violations.at('address');
  const address = parseAddress(encodedAddress, addressAt);
  if (address === 'unusable') addressAt.at('socket_address').add('field not present');
  if (filterChains.length === 0 && defaultFilterChain === undefined) {
    violations.add('must have filter_chains or default_filter_chain');
  }
  const { length } = filterChains;
  if (length > MAX_LISTENER_ELEMENTS) {
    const reason = `must not have more than ${MAX_LISTENER_ELEMENTS} entries, but has ${length}`;
    return readerOf(violations.at('filter_chains').add(reason));
  }
  return mapReader(readFilterChains(message, context, violations), (chains) => {
    if (address === undefined || address === 'unusable') return undefined;
    return {
      kind: 'socket',
      name,
      encoded: bytes,
      address,
      isTcp: isTcp(encodedAddress),
      ...chains,
    };
  });
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

type ParsedFilterChains = Pick<
  SocketListener,
  'filterChains' | 'unmatchable' | 'defaultFilterChain'
>;

/** Reads filter chains, each within the budget of one message, and compares the matches of all but the default one. */
function readFilterChains(
  { filterChains, defaultFilterChain }: Listener,
  context: ParseContext,
  violations: Violations,
): PartReader<ParsedFilterChains> {
  const messages = defaultFilterChain ? [...filterChains, defaultFilterChain] : filterChains;
  const matches: (ParsedMatch | undefined)[] = [];
  const open = (message: FilterChainMessage, i: number) => {
    const isDefault = message === defaultFilterChain;
    const at = isDefault
      ? violations.at('default_filter_chain')
      : violations.at('filter_chains').index(i);
    at.budget.renew();
    return mapReader(readFilterChain(message, context, at), (chain) => {
      if (!isDefault) matches.push(parseMatch(message, matches, at.at('filter_chain_match')));
      return chain;
    });
  };
  return new ListReader(messages, open, (chains) => {
    const matched: MatchedFilterChain[] = [];
    const unmatchable: UnmatchableFilterChain[] = [];
    for (const [i, match] of matches.entries()) {
      const chain = chains[i];
      const criterion = match?.unmatchable;
      if (criterion !== undefined) {
        unmatchable.push({ name: filterChains[i]?.name ?? '', criterion });
      } else if (match !== undefined && chain !== undefined) {
        matched.push({ ...chain, match: match.value });
      }
    }
    return { filterChains: matched, unmatchable, defaultFilterChain: chains[matches.length] };
  });
}

const ANY_CONNECTION = FilterChainMatch.create();

/** Parses the match of a filter chain, which must have no combination of criteria in common with an earlier one. */
function parseMatch(
  { filterChainMatch = ANY_CONNECTION }: FilterChainMessage,
  earlier: readonly (ParsedMatch | undefined)[],
  violations: Violations,
): ParsedMatch | undefined {
  const match = parseFilterChainMatch(filterChainMatch, violations);
  if (match === undefined) return undefined;
  const same = earlier.findIndex((other) => other !== undefined && overlaps(match, other));
  if (same !== -1) violations.add(`has the same matching criteria as filter_chains[${same}]`);
  return match;
}

/** Reads a filter chain without its match. It finishes with `undefined` after adding a violation. */
function readFilterChain(
  { name, filters, transportSocket }: FilterChainMessage,
  context: ParseContext,
  violations: Violations,
): PartReader<FilterChain | undefined> {
  const reader = readNetworkFilters(filters, context, violations.at('filters'));
  return mapReader(reader, (httpConnectionManager) => {
    const before = violations.count;
    const { regexes, certificateProviders = new Set() } = context;
    const certificates = { regexes, certificateProviders, readSystemRoots: false };
    const at = violations.at('transport_socket');
    const tls = transportSocket && parseDownstreamTls(transportSocket, certificates, at);
    if (httpConnectionManager === undefined || violations.count > before) return undefined;
    return { name, httpConnectionManager, tls };
  });
}

/** The one filter that there may be is an HttpConnectionManager, which must be the last (gRFC A36). */
function readNetworkFilters(
  filters: readonly Filter[],
  context: ParseContext,
  violations: Violations,
): PartReader<HttpConnectionManager | undefined> {
  let manager: PartReader<HttpConnectionManager | undefined> = readerOf(undefined);
  if (filters.length === 0) violations.add('must have an HttpConnectionManager');
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
      manager = readHttpConnectionManager(extension.bytes, context, forServers, configAt);
    }
  }
  return manager;
}
