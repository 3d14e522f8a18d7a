import { isKnownNotDraining } from '../../resources/endpoint-slices';
import type { LocalityEndpoints } from '../../resources/endpoints';
import type { EndpointSet } from '../endpoint-set';

/**
 * Leaves endpoints that are DRAINING out of what the child gets (gRFC A55). Where there are none, the objects stay
 * what they are; where there are, the same objects give the same result, so that the child can compare by identity.
 */
export class DrainingFilter {
  private readonly sets = new WeakMap<EndpointSet, EndpointSet>();
  private readonly localities = new WeakMap<LocalityEndpoints, LocalityEndpoints>();

  /** The set without endpoints that are DRAINING. */
  filter(set: EndpointSet): EndpointSet {
    const known = this.sets.get(set);
    if (known !== undefined) return known;
    const filtered = this.filterSet(set);
    this.sets.set(set, filtered);
    return filtered;
  }

  private filterSet(set: EndpointSet): EndpointSet {
    const localities = set.localities.map((locality) => this.filterLocality(locality));
    let same = localities.every((locality, i) => locality === set.localities[i]);
    if (set.children === undefined) return same ? set : { localities, children: undefined };
    const children = new Map<string, EndpointSet>();
    for (const [name, child] of set.children) {
      const filtered = this.filter(child);
      same &&= filtered === child;
      children.set(name, filtered);
    }
    return same ? set : { localities, children };
  }

  private filterLocality(locality: LocalityEndpoints): LocalityEndpoints {
    if (isKnownNotDraining(locality)) return locality;
    const known = this.localities.get(locality);
    if (known !== undefined) return known;
    const isDraining = locality.endpoints.some(({ health }) => health === 'DRAINING');
    const filtered = isDraining
      ? { ...locality, endpoints: locality.endpoints.filter(({ health }) => health !== 'DRAINING') }
      : locality;
    this.localities.set(locality, filtered);
    return filtered;
  }
}
