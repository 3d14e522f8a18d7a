import type { XdsEndpoint } from '../../resources/endpoints';
import { allEndpoints } from '../endpoint-children';
import type { EndpointSet } from '../endpoint-set';

/** How many endpoints that are gone in a row are looked past; after more, the following are ranked anew. */
const LOOK_AHEAD = 8;

/**
 * A number for each endpoint, worked out once: most updates list most endpoints as the same objects in the same
 * order.
 */
export class EndpointRanks {
  private endpoints: readonly XdsEndpoint[] = [];
  private ranks = new Float64Array();

  constructor(private readonly rank: (endpoint: XdsEndpoint) => number) {}

  /** The ranks of the endpoints, in the order of `allEndpoints`. */
  update(set: EndpointSet): Float64Array {
    const endpoints = [...allEndpoints(set)];
    const ranks = new Float64Array(endpoints.length);
    let expected = 0;
    let position = 0;
    for (const endpoint of endpoints) {
      const known = this.find(endpoint, expected);
      if (known === undefined) {
        ranks[position] = this.rank(endpoint);
      } else {
        ranks[position] = this.ranks[known] ?? 0;
        expected = known + 1;
      }
      position++;
    }
    this.endpoints = endpoints;
    this.ranks = ranks;
    return ranks;
  }

  private find(endpoint: XdsEndpoint, expected: number): number | undefined {
    const end = Math.min(expected + LOOK_AHEAD, this.endpoints.length);
    for (let position = expected; position < end; position++) {
      if (this.endpoints[position] === endpoint) return position;
    }
    return undefined;
  }
}
