import type {
  ConnectionSource,
  FilterChain,
  FilterChainMatch,
  MatchedFilterChain,
  SocketListener,
} from '../../resources/listener/listener';
import {
  addressBytes,
  cidrRangeText,
  isInRange,
  type CidrRange,
} from '../../resources/shared/address-parser';
import type { IpPort } from '../../util/host-port';

/**
 * A connection as criteria read it: by the addresses that a socket of Node.js reports. An IPv4-mapped address, or one with a zone, matches
 * as the address without.
 */
interface MatchedConnection {
  readonly local: IpPort;
  readonly remote: IpPort;
  /** The bytes of the local address; `undefined` if it is none of IP, which is in no range. */
  readonly to: Uint8Array | undefined;
  /** The same of the remote address. */
  readonly from: Uint8Array | undefined;
  readonly source: Exclude<ConnectionSource, 'any'>;
}

/** A criterion of the matches of filter chains. */
interface Criterion {
  /** As in the schema. */
  readonly name: string;
  /** Returns how specifically a match is for a connection; `undefined` if it is not for it. */
  rank(match: FilterChainMatch, connection: MatchedConnection): number | undefined;
  /** Describes the best rank, of one match with it, which sets the criterion. */
  describe(match: FilterChainMatch, connection: MatchedConnection): string;
  /** Describes that no match is for the connection. */
  describeNone(connection: MatchedConnection): string;
}

/** The rank of a criterion that is not set. Any other is more specific. */
const UNSET = -1;

/** In the order in which they leave out chains (gRFC A36). */
const CRITERIA: readonly Criterion[] = [
  rangeCriterion(
    'prefix_ranges',
    ({ prefixRanges }) => prefixRanges,
    ({ local, to }) => [local, to],
  ),
  {
    name: 'transport_protocol',
    rank: ({ isRawBuffer }) => (isRawBuffer ? 0 : UNSET),
    describe: () => 'raw_buffer is more specific than not set',
    describeNone: () => '',
  },
  {
    name: 'source_type',
    rank: (match, { source }) =>
      match.source === source ? 0 : match.source === 'any' ? UNSET : undefined,
    describe: (_match, connection) => describeSource(connection),
    describeNone: (connection) => `${describeSource(connection)}, which no chain is for`,
  },
  rangeCriterion(
    'source_prefix_ranges',
    ({ sourcePrefixRanges }) => sourcePrefixRanges,
    ({ remote, from }) => [remote, from],
  ),
  {
    name: 'source_ports',
    rank: ({ sourcePorts }, { remote }) =>
      sourcePorts.length === 0 ? UNSET : sourcePorts.includes(remote.port) ? 0 : undefined,
    describe: (_match, { remote }) => `${remote.port} is listed`,
    describeNone: ({ remote }) => `${remote.port} is not listed`,
  },
];

/**
 * Finds the filter chain of a connection: of the chains that match the local address most specifically those that match the
 * transport most specifically, and so on. A chain that was left out is not considered again (gRFC A36).
 *
 * @param reasons Gets why it is that chain: the criteria that leave chains out, such as `prefix_ranges: 10.0.0.0/8 is the longest range
 * with 10.1.2.3`. Default: they are not described.
 * @returns the default chain if no other matches; `undefined` if there is none: the connection is to be closed.
 */
export function findFilterChain(
  { filterChains, defaultFilterChain }: SocketListener,
  local: IpPort,
  remote: IpPort,
  reasons?: string[],
): FilterChain | undefined {
  const connection = matchedConnection(local, remote);
  let chains = filterChains;
  for (const criterion of CRITERIA) {
    if (chains.length === 0) break;
    const { rank, remaining } = narrow(chains, criterion, connection);
    if (rank !== UNSET) reasons?.push(describeStep(criterion, remaining[0], connection));
    chains = remaining;
  }
  const [chain] = chains;
  if (chain !== undefined || defaultFilterChain === undefined) return chain;
  reasons?.push('it is the default_filter_chain');
  return defaultFilterChain;
}

function describeStep(
  criterion: Criterion,
  first: MatchedFilterChain | undefined,
  connection: MatchedConnection,
): string {
  const reason =
    first === undefined
      ? criterion.describeNone(connection)
      : criterion.describe(first.match, connection);
  return `${criterion.name}: ${reason}`;
}

/** Returns the chains with the best rank, and the rank. */
function narrow(
  chains: readonly MatchedFilterChain[],
  criterion: Criterion,
  connection: MatchedConnection,
): { readonly rank: number; readonly remaining: readonly MatchedFilterChain[] } {
  let best = -Infinity;
  let remaining: MatchedFilterChain[] = [];
  for (const chain of chains) {
    const rank = criterion.rank(chain.match, connection);
    if (rank === undefined || rank < best) continue;
    if (rank > best) remaining = [];
    best = rank;
    remaining.push(chain);
  }
  return { rank: best, remaining };
}

function matchedConnection(local: IpPort, remote: IpPort): MatchedConnection {
  const [to, from] = [addressBytes(local.address), addressBytes(remote.address)];
  return { local, remote, to, from, source: sourceOf(from, to) };
}

/** Creates a criterion of ranges of addresses: the longest range is the most specific. */
function rangeCriterion(
  name: string,
  rangesOf: (match: FilterChainMatch) => readonly CidrRange[],
  endOf: (connection: MatchedConnection) => readonly [end: IpPort, bytes: Uint8Array | undefined],
): Criterion {
  const longest = (match: FilterChainMatch, connection: MatchedConnection) => {
    const [, bytes] = endOf(connection);
    let found: CidrRange | undefined;
    for (const range of rangesOf(match)) {
      if (bytes === undefined || !isInRange(range, bytes)) continue;
      if (found === undefined || range.prefixLength > found.prefixLength) found = range;
    }
    return found;
  };
  return {
    name,
    rank: (match, connection) =>
      rangesOf(match).length === 0 ? UNSET : longest(match, connection)?.prefixLength,
    describe(match, connection) {
      const range = longest(match, connection);
      const text = range === undefined ? '' : cidrRangeText(range);
      return `${text} is the longest range with ${endOf(connection)[0].address}`;
    },
    describeNone: (connection) => `${endOf(connection)[0].address} is in none of the ranges`,
  };
}

function describeSource({ local, remote, source }: MatchedConnection): string {
  const name = source === 'external' ? 'EXTERNAL' : 'SAME_IP_OR_LOOPBACK';
  return `the connection from ${remote.address} to ${local.address} is ${name}`;
}

/** Returns where a connection comes from (gRFC A36), by the bytes of its addresses. */
function sourceOf(
  remote: Uint8Array | undefined,
  local: Uint8Array | undefined,
): MatchedConnection['source'] {
  if (remote === undefined) return 'external';
  const isSame = local !== undefined && Buffer.compare(remote, local) === 0;
  return isSame || isLoopback(remote) ? 'same-ip-or-loopback' : 'external';
}

/** Whether an address is in 127.0.0.0/8, or is `::1`. */
function isLoopback(bytes: Uint8Array): boolean {
  if (bytes.length === 4) return bytes[0] === 127;
  return bytes.every((byte, i) => byte === (i === bytes.length - 1 ? 1 : 0));
}
