import type { Locality, LocalityEndpoints, XdsEndpoint } from '../../resources/endpoints/endpoints';

/**
 * The endpoints of a policy, as the shared immutable objects of `XdsConfig`. A policy with named children (priority)
 * gives each the set under its name: the typed form of gRFC A56's hierarchical path. A set has either localities or children. A policy that creates sets returns the
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

/** Returns all endpoints of a set, in the order to use them in. */
export function* allEndpoints(set: EndpointSet): IterableIterator<XdsEndpoint> {
  yield* set.order ?? endpointsByLocality(set);
}

/** Returns all endpoints of a set, locality by locality. */
export function* endpointsByLocality({ localities }: EndpointSet): IterableIterator<XdsEndpoint> {
  for (const { endpoints } of localities) yield* endpoints;
}
