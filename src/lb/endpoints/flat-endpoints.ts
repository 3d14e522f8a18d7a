import type { GrpcEndpoint, SubchannelAddress } from '../../grpc-js';
import {
  type LocalityEndpoints,
  noMetadata,
  type SocketAddress,
  type XdsEndpoint,
} from '../../resources/endpoints/endpoints';
import { shareList } from '../../util/share';
import { endpointKey, shareAddresses } from './endpoint-key';
import { emptyEndpointSet, type EndpointSet } from './endpoint-set';

const NOWHERE = { region: '', zone: '', subZone: '' } as const;

/**
 * Converts the endpoint lists of grpc-js, which are new objects with every resolution, to sets that share unchanged
 * objects. A set has one locality, without a name.
 */
export class FlatEndpoints {
  private byKey: ReadonlyMap<string, XdsEndpoint> = new Map();
  private current: EndpointSet = emptyEndpointSet;

  /** Returns the set of a list; the previous one if nothing changed. Unix sockets are left out. */
  update(list: readonly GrpcEndpoint[]): EndpointSet {
    const byKey = new Map<string, XdsEndpoint>();
    for (const { addresses } of list) {
      const endpoint = toXdsEndpoint(addresses.filter(isSocketAddress));
      if (endpoint.addresses.length === 0) continue;
      const key = endpointKey(endpoint);
      const known = this.byKey.get(key);
      const isSame =
        known !== undefined &&
        shareAddresses(known.addresses, endpoint.addresses) === known.addresses;
      byKey.set(key, isSame ? known : endpoint);
    }
    this.byKey = byKey;
    const before = this.current.localities[0]?.endpoints ?? [];
    const endpoints = shareList(before, [...byKey.values()]);
    if (endpoints !== before) this.current = createSet(endpoints);
    return this.current;
  }
}

function createSet(endpoints: readonly XdsEndpoint[]): EndpointSet {
  if (endpoints.length === 0) return emptyEndpointSet;
  const locality: LocalityEndpoints = { locality: NOWHERE, weight: 1, endpoints };
  return { localities: [locality], children: undefined };
}

function toXdsEndpoint(addresses: readonly SocketAddress[]): XdsEndpoint {
  return {
    addresses,
    weight: 1,
    health: 'UNKNOWN',
    hostname: '',
    hashKey: undefined,
    metadata: noMetadata,
  };
}

function isSocketAddress(address: SubchannelAddress): address is SocketAddress {
  return 'host' in address;
}
