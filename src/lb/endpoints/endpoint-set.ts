import type { Locality, LocalityEndpoints, XdsEndpoint } from '../../resources/endpoints/endpoints';
import { shareFields, shareList, shareMap } from '../../util/share';

/**
 * The endpoints of a policy, as the shared immutable objects of `XdsConfig`. A policy with named children (priority)
 * gives each the set under its name: the typed form of gRFC A56's hierarchical path. A policy that creates sets returns the
 * previous one while nothing in it changed, so that policies compare with `===`.
 */
export interface EndpointSet {
  readonly localities: readonly LocalityEndpoints[];
  /** All endpoints of the localities in the order to use them in; absent if that is locality by locality. */
  readonly order?: readonly XdsEndpoint[] | undefined;
  /** What the weights are shares of, if endpoints were left out (gRFC A113); absent if none was. */
  readonly whole?: WeightSums | undefined;
  /** The sets of named children; `undefined` if there are none. */
  readonly children: ReadonlyMap<string, EndpointSet> | undefined;
}

/** The sums of the weights of a priority. */
export interface WeightSums {
  /** Of the localities. */
  readonly localities: number;
  /** Of the endpoints, by locality. */
  readonly endpoints: ReadonlyMap<Locality, number>;
}

/** The endpoints of a policy, or the error of their resolution. */
export type LbEndpoints = EndpointSet | string;

/** No endpoints. */
export const emptyEndpointSet: EndpointSet = { localities: [], children: undefined };

/** Returns the endpoints of a named child; those of the policy if they are an error. */
export function childEndpoints(endpoints: LbEndpoints, name: string): LbEndpoints {
  if (typeof endpoints === 'string') return endpoints;
  return endpoints.children?.get(name) ?? emptyEndpointSet;
}

/** Returns the previous set if it has the same localities and equal children, otherwise one with what is the same. */
export function shareEndpointSet(
  previous: EndpointSet | undefined,
  next: EndpointSet,
): EndpointSet {
  if (previous === next) return previous;
  const localities = shareList(previous?.localities, next.localities);
  const children = next.children && shareChildren(previous?.children, next.children);
  const order = next.order && shareList(previous?.order, next.order);
  const whole = next.whole && shareSums(previous?.whole, next.whole);
  const isSame = (set: EndpointSet | undefined) =>
    set?.localities === localities &&
    set.children === children &&
    set.order === order &&
    set.whole === whole;
  if (previous !== undefined && isSame(previous)) return previous;
  return isSame(next) ? next : { localities, children, order, whole };
}

function shareSums(previous: WeightSums | undefined, next: WeightSums): WeightSums {
  const endpoints = shareMap(previous?.endpoints, next.endpoints);
  return shareFields(previous, { localities: next.localities, endpoints });
}

/** Returns all endpoints of a set, in the order to use them in. */
export function* allEndpoints(set: EndpointSet): IterableIterator<XdsEndpoint> {
  yield* set.order ?? endpointsByLocality(set);
}

/** Returns all endpoints of a set, locality by locality. */
export function* endpointsByLocality({ localities }: EndpointSet): IterableIterator<XdsEndpoint> {
  for (const { endpoints } of localities) yield* endpoints;
}

function shareChildren(
  previous: EndpointSet['children'],
  next: ReadonlyMap<string, EndpointSet>,
): EndpointSet['children'] {
  const children = new Map<string, EndpointSet>();
  for (const [name, set] of next) children.set(name, shareEndpointSet(previous?.get(name), set));
  return shareMap(previous, shareMap(next, children));
}
