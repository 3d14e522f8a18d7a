import type {
  ConnectionSource,
  FilterChain,
  SocketListener,
} from '../../resources/listener/listener';
import {
  addressBytes,
  cidrText,
  withPrefix,
  type CidrRange,
} from '../../resources/shared/address-parser';

/** One end of a connection. */
export interface ConnectionEnd {
  /** As a socket of Node.js has it: IPv4 in IPv6, and with a zone, is the same as without. */
  readonly address: string;
  readonly port: number;
}

/** Positions of filter chains in their listener, in ascending order; `undefined` for all of them. */
type Positions = readonly number[] | undefined;

/** The filter chains by their values of one criterion. */
class Criterion<Value> {
  private readonly byValue = new Map<Value, number[]>();
  /** Those that it is not set for, which are for all connections, and less specific than the others. */
  private readonly unset: number[] = [];

  /** Adds a chain, whose position is higher than those before. */
  add(position: number, values: readonly Value[]): void {
    if (values.length === 0) this.unset.push(position);
    for (const value of values) {
      const positions = this.byValue.get(value);
      if (positions === undefined) this.byValue.set(value, [position]);
      else if (positions.at(-1) !== position) positions.push(position);
    }
  }

  /**
   * Returns the chains that are the most specific for a connection.
   *
   * @param valuesOf Returns its own values, the most specific first. Called if any chain has one.
   */
  narrow(chains: Positions, valuesOf: () => readonly Value[]): Positions {
    if (this.byValue.size === 0) return chains;
    for (const value of valuesOf()) {
      const left = intersect(chains, this.byValue.get(value) ?? []);
      if (left.length > 0) return left;
    }
    return intersect(chains, this.unset);
  }
}

/** The filter chains by the ranges of addresses that they are for: the longest range is the most specific. */
class RangeCriterion {
  /** By the text of the range. */
  private readonly ranges = new Criterion<string>();
  /** Of the prefixes, by the number of bytes of their addresses. */
  private readonly lengths = new Map<number, Set<number>>();

  add(position: number, ranges: readonly CidrRange[]): void {
    for (const { bytes, prefixLength } of ranges) {
      const known = this.lengths.get(bytes.length) ?? new Set();
      this.lengths.set(bytes.length, known.add(prefixLength));
    }
    this.ranges.add(position, ranges.map(cidrText));
  }

  /** @param addressOf Returns the address; `undefined` if it is none of IP, which is in no range. */
  narrow(chains: Positions, addressOf: () => Uint8Array | undefined): Positions {
    return this.ranges.narrow(chains, () => {
      const address = addressOf() ?? new Uint8Array();
      const lengths = [...(this.lengths.get(address.length) ?? [])].sort((a, b) => b - a);
      return lengths.map((prefixLength) =>
        cidrText({ bytes: withPrefix(address, prefixLength), prefixLength }),
      );
    });
  }
}

/**
 * Finds the filter chain of each connection (gRFC A36). A criterion has the chains of each of its values; a search intersects
 * one list of each criterion. So neither its time nor the memory depends on how many combinations of values the chains match.
 */
export class FilterChainIndex {
  private readonly destinations = new RangeCriterion();
  private readonly transports = new Criterion<'raw-buffer'>();
  private readonly sources = new Criterion<ConnectionSource>();
  private readonly sourceAddresses = new RangeCriterion();
  private readonly sourcePorts = new Criterion<number>();

  constructor(private readonly listener: SocketListener) {
    for (const [position, { match }] of listener.filterChains.entries()) {
      const { source } = match;
      this.destinations.add(position, match.prefixRanges);
      this.transports.add(position, match.isRawBuffer ? ['raw-buffer'] : []);
      this.sources.add(position, source === 'any' ? [] : [source]);
      this.sourceAddresses.add(position, match.sourcePrefixRanges);
      this.sourcePorts.add(position, match.sourcePorts);
    }
  }

  /**
   * Finds the filter chain of a connection: of the chains that match the local address most specifically those that match the
   * transport most specifically, and so on. A chain that was left out is not considered again (gRFC A36).
   *
   * @returns the default chain if no other matches; `undefined` if there is none: the connection is to be closed.
   */
  find(local: ConnectionEnd, remote: ConnectionEnd): FilterChain | undefined {
    const to = readOnce(() => addressBytes(local.address));
    const from = readOnce(() => addressBytes(remote.address));
    let chains = this.destinations.narrow(undefined, to);
    chains = this.transports.narrow(chains, () => ['raw-buffer']);
    chains = this.sources.narrow(chains, () => [sourceOf(from(), to())]);
    chains = this.sourceAddresses.narrow(chains, from);
    chains = this.sourcePorts.narrow(chains, () => [remote.port]);
    const { filterChains, defaultFilterChain } = this.listener;
    const position = chains === undefined ? 0 : chains[0];
    return (position === undefined ? undefined : filterChains[position]) ?? defaultFilterChain;
  }
}

/** Returns a function that reads an address when it is first called. */
function readOnce(read: () => Uint8Array | undefined): () => Uint8Array | undefined {
  let found: { readonly address: Uint8Array | undefined } | undefined;
  return () => (found ??= { address: read() }).address;
}

function intersect(chains: Positions, others: readonly number[]): readonly number[] {
  if (chains === undefined) return others;
  const both: number[] = [];
  let next = 0;
  for (const position of chains) {
    while ((others[next] ?? Infinity) < position) next++;
    if (others[next] === position) both.push(position);
  }
  return both;
}

/**
 * Returns where a connection comes from (gRFC A36).
 *
 * @param remote The bytes of the remote address; `undefined` if it is none of IP.
 * @param local The same of the local one.
 */
export function sourceOf(
  remote: Uint8Array | undefined,
  local: Uint8Array | undefined,
): Exclude<ConnectionSource, 'any'> {
  if (remote === undefined) return 'external';
  if (isLoopback(remote)) return 'same-ip-or-loopback';
  const isSame = local !== undefined && Buffer.compare(remote, local) === 0;
  return isSame ? 'same-ip-or-loopback' : 'external';
}

/** Whether an address is in 127.0.0.0/8, or is `::1`. */
function isLoopback(bytes: Uint8Array): boolean {
  if (bytes.length === 4) return bytes[0] === 127;
  return bytes.every((byte, i) => byte === (i === bytes.length - 1 ? 1 : 0));
}
