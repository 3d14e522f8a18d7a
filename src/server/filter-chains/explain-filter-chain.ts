import type {
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

import { sourceOf, type ConnectionEnd } from './filter-chain-index';

/** What one criterion leaves of the filter chains. */
export interface FilterChainStep {
  /** The criterion, as in the schema. */
  readonly criterion: string;
  /** Why these chains remain, such as `10.0.0.0/8 is the longest range with 10.1.2.3`. */
  readonly reason: string;
  /** Whether a chain that remains has a value of the criterion; true if none remains. */
  readonly isSet: boolean;
  /** In the order of the listener. */
  readonly remaining: readonly MatchedFilterChain[];
}

/** Why a connection has its filter chain. */
export interface FilterChainExplanation {
  /** Up to the one that leaves no chain, or all. */
  readonly steps: readonly FilterChainStep[];
  /** The chain that is found; `undefined` if the connection is closed. */
  readonly chain: FilterChain | undefined;
  /** Whether no chain matches, so that the connection has the default chain or none. */
  readonly isDefault: boolean;
}

/** A criterion, for one connection. */
interface Criterion {
  readonly name: string;
  /** Returns how specifically a match is for the connection; `undefined` if it is not for it. */
  rank(match: FilterChainMatch): number | undefined;
  /** Describes the best rank, of one match with it. */
  describe(match: FilterChainMatch): string;
  /** Describes that no match is for the connection. */
  readonly none: string;
}

/** The rank of a criterion that is not set. Any other is more specific. */
const UNSET = -1;

/**
 * Explains which filter chain a connection has (gRFC A36): by a search through all chains, step by step, for tools and tests. That it
 * finds what {@link FilterChainIndex} finds is tested.
 */
export function explainFilterChain(
  listener: SocketListener,
  local: ConnectionEnd,
  remote: ConnectionEnd,
): FilterChainExplanation {
  const steps: FilterChainStep[] = [];
  let remaining: readonly MatchedFilterChain[] = listener.filterChains;
  for (const criterion of criteriaOf(local, remote)) {
    if (remaining.length === 0) break;
    const step = applyCriterion(criterion, remaining);
    steps.push(step);
    ({ remaining } = step);
  }
  const [chain] = remaining;
  const isDefault = chain === undefined;
  return { steps, chain: chain ?? listener.defaultFilterChain, isDefault };
}

function applyCriterion(
  criterion: Criterion,
  chains: readonly MatchedFilterChain[],
): FilterChainStep {
  const ranks = chains.map(({ match }) => criterion.rank(match));
  const best = ranks.reduce<number>((max, value) => Math.max(max, value ?? max), -Infinity);
  const remaining = chains.filter((_, i) => ranks[i] === best);
  const [first] = remaining;
  const reason = first === undefined ? criterion.none : criterion.describe(first.match);
  return { criterion: criterion.name, reason, isSet: best !== UNSET, remaining };
}

function criteriaOf(local: ConnectionEnd, remote: ConnectionEnd): readonly Criterion[] {
  const to = addressBytes(local.address);
  const from = addressBytes(remote.address);
  const source = sourceOf(from, to);
  return [
    rangeCriterion('prefix_ranges', ({ prefixRanges }) => prefixRanges, local, to),
    {
      name: 'transport_protocol',
      rank: ({ isRawBuffer }) => (isRawBuffer ? 0 : UNSET),
      describe: ({ isRawBuffer }) =>
        isRawBuffer ? 'raw_buffer is more specific than not set' : 'not set',
      none: '',
    },
    {
      name: 'source_type',
      rank: (match) => (match.source === source ? 0 : match.source === 'any' ? UNSET : undefined),
      describe: (match) =>
        match.source === 'any'
          ? 'any source'
          : `the connection from ${remote.address} to ${local.address} is ${describeSource(source)}`,
      none: `the connection from ${remote.address} to ${local.address} is ${describeSource(source)}, which no chain is for`,
    },
    rangeCriterion('source_prefix_ranges', (match) => match.sourcePrefixRanges, remote, from),
    {
      name: 'source_ports',
      rank: ({ sourcePorts }) =>
        sourcePorts.length === 0 ? UNSET : sourcePorts.includes(remote.port) ? 0 : undefined,
      describe: ({ sourcePorts }) =>
        sourcePorts.length === 0 ? 'not set' : `${remote.port} is listed`,
      none: `${remote.port} is not listed`,
    },
  ];
}

function describeSource(source: ReturnType<typeof sourceOf>): string {
  return source === 'external' ? 'EXTERNAL' : 'SAME_IP_OR_LOOPBACK';
}

function rangeCriterion(
  name: string,
  rangesOf: (match: FilterChainMatch) => readonly CidrRange[],
  { address }: ConnectionEnd,
  bytes: Uint8Array | undefined,
): Criterion {
  const longest = (match: FilterChainMatch): CidrRange | undefined => {
    let found: CidrRange | undefined;
    for (const range of rangesOf(match)) {
      if (bytes === undefined || !isInRange(range, bytes)) continue;
      if (found === undefined || range.prefixLength > found.prefixLength) found = range;
    }
    return found;
  };
  return {
    name,
    rank: (match) => (rangesOf(match).length === 0 ? UNSET : longest(match)?.prefixLength),
    describe(match) {
      const range = longest(match);
      return range === undefined
        ? 'not set'
        : `${cidrRangeText(range)} is the longest range with ${address}`;
    },
    none: `${address} is in none of the ranges`,
  };
}
