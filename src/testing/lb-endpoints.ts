import type { EndpointSet } from '../lb/endpoints/endpoint-set';
import {
  noMetadata,
  type LocalityEndpoints,
  type SocketAddress,
  type XdsEndpoint,
} from '../resources/endpoints/endpoints';

/** Parses `10.0.0.1:80` or `[::1]:80`. */
export function makeAddress(text: string): SocketAddress {
  const colon = text.lastIndexOf(':');
  const host = text.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  return { host, port: Number(text.slice(colon + 1)) };
}

/** Makes an endpoint with the given addresses; healthy and of weight 1, unless in `fields`. */
export function makeEndpoint(
  addresses: string | readonly string[],
  fields: Partial<XdsEndpoint> = {},
): XdsEndpoint {
  const list = typeof addresses === 'string' ? [addresses] : addresses;
  return {
    addresses: list.map(makeAddress),
    weight: 1,
    health: 'HEALTHY',
    hostname: '',
    hashKey: undefined,
    metadata: noMetadata,
    ...fields,
  };
}

/** Makes the endpoints of one locality, identified by its region. */
export function makeLocality(
  region: string,
  endpoints: readonly (string | XdsEndpoint)[],
  weight = 1,
): LocalityEndpoints {
  return {
    locality: { region, zone: '', subZone: '' },
    weight,
    endpoints: endpoints.map((e) => (typeof e === 'string' ? makeEndpoint(e) : e)),
  };
}

export function makeEndpointSet(...localities: LocalityEndpoints[]): EndpointSet {
  return { localities, children: undefined };
}

export function singleLocality(...endpoints: (string | XdsEndpoint)[]): EndpointSet {
  return makeEndpointSet(makeLocality('r', endpoints));
}
