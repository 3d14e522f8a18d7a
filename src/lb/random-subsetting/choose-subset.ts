import type { Locality, LocalityEndpoints, XdsEndpoint } from '../../resources/endpoints/endpoints';
import { shareFields, shareList, shareMap } from '../../util/share';
import { emptyEndpointSet, endpointsByLocality, type EndpointSet } from '../endpoints/endpoint-set';
import { sumWeights } from '../endpoints/endpoint-weights';

/**
 * Chooses the endpoints of lowest rank, in the order of their ranks (gRFC A68), and leaves out localities without any.
 * Unchanged parts are the objects of `previous`, up to the set as a whole.
 *
 * @param ranks In the order of `endpointsByLocality`.
 * @param size The number of endpoints to choose. A set that has no more stays as it is.
 */
export function chooseSubset(
  set: EndpointSet,
  ranks: Float64Array,
  size: number,
  previous: EndpointSet | undefined,
): EndpointSet {
  if (ranks.length <= size) return set;
  const known = new Map<Locality, LocalityEndpoints>();
  const before = previous ?? emptyEndpointSet;
  for (const entry of before.localities) known.set(entry.locality, entry);
  const isChosen = createFilter(ranks, size);
  const localities: LocalityEndpoints[] = [];
  const chosen: RankedEndpoint[] = [];
  let position = 0;
  for (const entry of set.localities) {
    const members: RankedEndpoint[] = [];
    for (const endpoint of entry.endpoints) {
      if (isChosen(position)) members.push({ endpoint, rank: ranks[position] ?? 0 });
      position++;
    }
    if (members.length === 0) continue;
    localities.push(reuse({ ...entry, endpoints: inOrder(members) }, known.get(entry.locality)));
    for (const member of members) chosen.push(member);
  }
  const order = localities.length === 1 ? undefined : inOrder(chosen);
  const sums = sumWeights(set);
  return shareFields<EndpointSet>(previous, {
    localities: shareList(before.localities, localities),
    children: set.children,
    order: order && shareList(before.order, order),
    whole: shareFields(before.whole, {
      localities: sums.localities,
      endpoints: shareMap(before.whole?.endpoints, sums.endpoints),
    }),
  });
}

interface RankedEndpoint {
  readonly endpoint: XdsEndpoint;
  readonly rank: number;
}

/** Returns the endpoints in the order of their ranks; those of equal rank stay in theirs. */
function inOrder(endpoints: readonly RankedEndpoint[]): readonly XdsEndpoint[] {
  return [...endpoints].sort((a, b) => a.rank - b.rank).map(({ endpoint }) => endpoint);
}

/** Returns a filter to be called with each position in order: of equal ranks, the first ones pass. */
function createFilter(ranks: Float64Array, size: number): (position: number) => boolean {
  const sorted = ranks.slice().sort();
  const highest = sorted[size - 1] ?? -1;
  let places = size - sorted.indexOf(highest);
  return (position) => {
    const rank = ranks[position] ?? Infinity;
    return rank < highest || (rank === highest && places-- > 0);
  };
}

function reuse(next: LocalityEndpoints, known: LocalityEndpoints | undefined): LocalityEndpoints {
  return shareFields(known, { ...next, endpoints: shareList(known?.endpoints, next.endpoints) });
}

/** Computes the rank of each endpoint once. */
export class EndpointRanks {
  private readonly known = new WeakMap<XdsEndpoint, number>();

  constructor(private readonly rank: (endpoint: XdsEndpoint) => number) {}

  /** Returns the ranks of the endpoints, in the order of `endpointsByLocality`. */
  of(set: EndpointSet): Float64Array {
    return Float64Array.from([...endpointsByLocality(set)], (endpoint) => {
      const known = this.known.get(endpoint);
      if (known !== undefined) return known;
      const rank = this.rank(endpoint);
      this.known.set(endpoint, rank);
      return rank;
    });
  }
}
