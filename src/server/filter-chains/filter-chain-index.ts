import type {
  ConnectionSource,
  FilterChain,
  MatchedFilterChain,
  SocketListener,
} from '../../resources/listener/listener';
import { addressBytes } from '../../resources/shared/address-parser';
import { addTo, narrow, withChain, type ChainSet } from './chain-set';
import { sourceOf } from './connection-source';
import { PrefixSets, type AddressReader } from './prefix-sets';

/** One end of a connection. */
export interface ConnectionEnd {
  /** As a socket of Node.js has it: IPv4 in IPv6, and with a zone, is the same as without. */
  readonly address: string;
  readonly port: number;
}

/** The key of chains that a criterion is not set for. */
const UNSET = 'unset';

/**
 * Finds the filter chain of each connection (gRFC A36). A criterion has a set of chains for each of its values; a search intersects
 * one set of each criterion. So neither its time nor the memory depends on how many combinations of values the chains match.
 */
export class FilterChainIndex {
  private readonly destinations = new PrefixSets();
  private readonly transports = new Map<'raw-buffer' | typeof UNSET, ChainSet>();
  private readonly sources = new Map<ConnectionSource, ChainSet>();
  private readonly sourceAddresses = new PrefixSets();
  private readonly sourcePorts = new Map<number | typeof UNSET, ChainSet>();
  private all: ChainSet | undefined = undefined;

  constructor(private readonly listener: SocketListener) {
    for (const [position, chain] of listener.filterChains.entries()) this.add(chain, position);
  }

  /**
   * Finds the filter chain of a connection: of the chains that match the local address most specifically those that match the
   * transport most specifically, and so on. A chain that was left out is not considered again (gRFC A36).
   *
   * @returns the default chain if no other matches; `undefined` if there is none: the connection is to be closed.
   */
  find(local: ConnectionEnd, remote: ConnectionEnd): FilterChain | undefined {
    // An address is parsed at most once, and not at all for chains without criteria of addresses.
    const from = readerOf(remote);
    const to = readerOf(local);
    const { transports, sourcePorts } = this;
    let chains = narrow(this.all, this.destinations.find(to));
    chains = narrow(chains, [transports.get('raw-buffer'), transports.get(UNSET)]);
    chains = narrow(chains, this.findSources(from, to));
    chains = narrow(chains, this.sourceAddresses.find(from));
    chains = narrow(chains, [sourcePorts.get(remote.port), sourcePorts.get(UNSET)]);
    const { filterChains, defaultFilterChain } = this.listener;
    return chains === undefined ? defaultFilterChain : filterChains[chains.first];
  }

  private findSources(from: AddressReader, to: AddressReader): readonly (ChainSet | undefined)[] {
    const any = this.sources.get('any');
    const hasOthers = this.sources.size > (any === undefined ? 0 : 1);
    return hasOthers ? [this.sources.get(sourceOf(from(), to())), any] : [any];
  }

  private add({ match }: MatchedFilterChain, position: number): void {
    const { prefixRanges, isRawBuffer, source, sourcePrefixRanges, sourcePorts } = match;
    this.all = withChain(this.all, position);
    this.destinations.add(position, prefixRanges);
    addTo(this.transports, isRawBuffer ? 'raw-buffer' : UNSET, position);
    addTo(this.sources, source, position);
    this.sourceAddresses.add(position, sourcePrefixRanges);
    if (sourcePorts.length === 0) addTo(this.sourcePorts, UNSET, position);
    for (const port of sourcePorts) addTo(this.sourcePorts, port, position);
  }
}

/** Returns what parses the address of an end when it is first called. */
function readerOf(end: ConnectionEnd): AddressReader {
  let parsed: { readonly bytes: Uint8Array | undefined } | undefined;
  return () => (parsed ??= { bytes: addressBytes(end.address) }).bytes;
}
