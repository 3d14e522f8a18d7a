// Listeners of servers as the parser would return them, with what the choice of a filter chain depends on.

import type {
  FilterChain,
  FilterChainMatch,
  SocketListener,
} from '../../../src/resources/listener/listener';
import { parseCidrRange, type CidrRange } from '../../../src/resources/shared/address-parser';
import { Violations } from '../../../src/util/violations';

/** The match of a chain in short; what is left out is not set. */
export interface ShortMatch {
  /** Such as `10.0.0.0/8`. */
  readonly to?: readonly string[];
  readonly raw?: boolean;
  readonly source?: FilterChainMatch['source'];
  readonly from?: readonly string[];
  readonly ports?: readonly number[];
}

function filterChain(name: string): FilterChain {
  const routes = { kind: 'rds', routeConfigName: name } as const;
  return {
    name,
    httpConnectionManager: { routes, httpFilters: [], maxStreamDurationMs: undefined },
    tls: undefined,
  };
}

/** A listener with one chain for each match, by its name, and a default chain if one has the name `default`. */
export function listenerOf(
  matches: Readonly<Record<string, ShortMatch>>,
  hasDefault = false,
): SocketListener {
  return {
    kind: 'socket',
    name: 'inbound',
    address: { host: '0.0.0.0', port: 8080 },
    isTcp: true,
    filterChains: Object.entries(matches).map(([name, match]) => ({
      ...filterChain(name),
      match: {
        prefixRanges: (match.to ?? []).map(rangeOf),
        isRawBuffer: match.raw ?? false,
        source: match.source ?? 'any',
        sourcePrefixRanges: (match.from ?? []).map(rangeOf),
        sourcePorts: match.ports ?? [],
      },
    })),
    defaultFilterChain: hasDefault ? filterChain('default') : undefined,
    unmatchable: [],
    encoded: new Uint8Array(0),
  };
}

function rangeOf(text: string): CidrRange {
  const [addressPrefix = '', length = ''] = text.split('/');
  const violations = Violations.root();
  const range = parseCidrRange({ addressPrefix, prefixLen: Number(length) }, violations);
  if (range === undefined) throw new Error(violations.all.join('; '));
  return range;
}
