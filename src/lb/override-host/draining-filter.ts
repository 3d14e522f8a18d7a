import type { LocalityEndpoints } from '../../resources/endpoints';
import type { EndpointSet } from '../endpoint-set';

/**
 * Leaves endpoints that are DRAINING out of what the child gets (gRFC A55). Where there are none, the objects stay
 * what they are; where there are, the same objects give the same result, so that the child can compare by identity.
 */
export class DrainingFilter {
  /** Only those with endpoints that are DRAINING; created for the first, as few clusters ever have one. */
  private sets: WeakMap<EndpointSet, EndpointSet> | undefined;
  private localities: WeakMap<LocalityEndpoints, LocalityEndpoints> | undefined;

  /** The set without endpoints that are DRAINING. */
  filter(set: EndpointSet): EndpointSet {
    const known = this.sets?.get(set);
    if (known !== undefined) return known;
    const filtered = this.filterSet(set);
    if (filtered !== set) (this.sets ??= new WeakMap()).set(set, filtered);
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
    if (locality.draining === 0) return locality;
    const known = this.localities?.get(locality);
    if (known !== undefined) return known;
    if (!locality.endpoints.some(({ health }) => health === 'DRAINING')) return locality;
    const endpoints = locality.endpoints.filter(({ health }) => health !== 'DRAINING');
    const filtered = { ...locality, endpoints, draining: 0 };
    (this.localities ??= new WeakMap()).set(locality, filtered);
    return filtered;
  }
}
