import type { LocalityEndpoints } from '../../resources/endpoints/endpoints';

/**
 * The endpoints of a policy, as the shared immutable objects of `XdsConfig`. A policy with named children (priority)
 * gives each the set under its name: the typed form of gRFC A56's hierarchical path.
 */
export interface EndpointSet {
  readonly localities: readonly LocalityEndpoints[];
  /** The sets of named children; `undefined` if there are none. */
  readonly children: ReadonlyMap<string, EndpointSet> | undefined;
}

/** No endpoints. */
export const emptyEndpointSet: EndpointSet = { localities: [], children: undefined };

/** Whether two sets have the same objects, so that an update can be skipped. */
export function sameEndpoints(a: EndpointSet, b: EndpointSet): boolean {
  if (a === b) return true;
  if (a.localities.length !== b.localities.length) return false;
  if (a.localities.some((locality, i) => locality !== b.localities[i])) return false;
  return sameChildren(a.children, b.children);
}

function sameChildren(a: EndpointSet['children'], b: EndpointSet['children']): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined || a.size !== b.size) return false;
  for (const [name, set] of a) {
    const other = b.get(name);
    if (other === undefined || !sameEndpoints(set, other)) return false;
  }
  return true;
}
