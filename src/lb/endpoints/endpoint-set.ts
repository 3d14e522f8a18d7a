import type { LocalityEndpoints } from '../../resources/endpoints/endpoints';
import { shareList, shareMap } from '../../util/share';

/**
 * The endpoints of a policy, as the shared immutable objects of `XdsConfig`. A policy with named children (priority)
 * gives each the set under its name: the typed form of gRFC A56's hierarchical path. A policy that creates sets returns the
 * previous one while nothing in it changed, so that policies compare with `===`.
 */
export interface EndpointSet {
  readonly localities: readonly LocalityEndpoints[];
  /** The sets of named children; `undefined` if there are none. */
  readonly children: ReadonlyMap<string, EndpointSet> | undefined;
}

/** No endpoints. */
export const emptyEndpointSet: EndpointSet = { localities: [], children: undefined };

/** Returns the previous set if it has the same localities and equal children, otherwise one with what is the same. */
export function shareEndpointSet(
  previous: EndpointSet | undefined,
  next: EndpointSet,
): EndpointSet {
  if (previous === next) return previous;
  const localities = shareList(previous?.localities, next.localities);
  const children = next.children && shareChildren(previous?.children, next.children);
  if (previous?.localities === localities && previous.children === children) return previous;
  const isNew = localities === next.localities && children === next.children;
  return isNew ? next : { localities, children };
}

function shareChildren(
  previous: EndpointSet['children'],
  next: ReadonlyMap<string, EndpointSet>,
): EndpointSet['children'] {
  const children = new Map<string, EndpointSet>();
  for (const [name, set] of next) children.set(name, shareEndpointSet(previous?.get(name), set));
  return shareMap(previous, shareMap(next, children));
}
