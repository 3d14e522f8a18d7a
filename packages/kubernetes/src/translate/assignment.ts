import type { Address } from '../../../../src/wire/generated/envoy/config/core/v3/address';
import { SocketAddress_Protocol } from '../../../../src/wire/generated/envoy/config/core/v3/address';
import { HealthStatus } from '../../../../src/wire/generated/envoy/config/core/v3/health_check';
import { ClusterLoadAssignment } from '../../../../src/wire/generated/envoy/config/endpoint/v3/endpoint';
import type {
  LbEndpoint,
  LocalityLbEndpoints,
} from '../../../../src/wire/generated/envoy/config/endpoint/v3/endpoint_components';
import { endpointKind } from 'grpc-xds/control-plane';
import type { Audience } from './audience';
import {
  prioritize,
  type EndpointPreferences,
  type PlacedEndpoint,
  type WeightedLocality,
} from './endpoint-priorities';
import type { MergedEndpoint } from './merged-endpoints';
import { digestOfJson, type ResourcePlan } from './plan';

/** The input of the endpoint assignment of a port. */
export interface AssignmentModel {
  readonly name: string;
  readonly namespaces: readonly string[];
  readonly endpoints: readonly MergedEndpoint[];
  readonly preferences: EndpointPreferences;
}

/** Plans the endpoint assignment of a port. It differs between the zones and nodes that endpoints are in or have hints for. */
export function planAssignment(model: AssignmentModel): ResourcePlan {
  const { name, namespaces, endpoints, preferences } = model;
  const isPreferring = preferences.distribution !== undefined || preferences.isNodeLocal;
  const zones = new Set<string>();
  const nodes = new Set<string>();
  for (const { zone, nodeName, forZones, forNodes } of endpoints) {
    if (isPreferring) {
      zones.add(zone);
      if (nodeName !== undefined) nodes.add(nodeName);
    }
    for (const each of forZones) zones.add(each);
    for (const each of forNodes) nodes.add(each);
  }
  const reduce = ({ zone, nodeName }: Audience): Pick<Audience, 'zone' | 'nodeName'> => ({
    zone: zone !== undefined && zones.has(zone) ? zone : undefined,
    nodeName: nodeName !== undefined && nodes.has(nodeName) ? nodeName : undefined,
  });
  return {
    kind: endpointKind,
    name,
    namespaces,
    digest: digestOfJson(model),
    variantOf(audience) {
      const { zone = '', nodeName = '' } = reduce(audience);
      return `${zone} ${nodeName}`;
    },
    encode: (audience) => encodeAssignment(model, reduce(audience)),
  };
}

function encodeAssignment(
  { name: clusterName, endpoints, preferences }: AssignmentModel,
  audience: Pick<Audience, 'zone' | 'nodeName'>,
): Uint8Array {
  const priorities = prioritize(endpoints, preferences, audience);
  return ClusterLoadAssignment.encode({
    clusterName,
    endpoints: priorities.flatMap((localities, priority) =>
      localities.map((locality) => toMessage(locality, priority)),
    ),
    policy: undefined,
  }).finish();
}

function toMessage(
  { region, zone, subZone, weight, endpoints }: WeightedLocality,
  priority: number,
): LocalityLbEndpoints {
  return {
    locality: { region, zone, subZone },
    metadata: undefined,
    lbEndpoints: endpoints.map(toEndpoint),
    lbConfig: undefined,
    loadBalancingWeight: weight,
    priority,
  };
}

function toEndpoint({ endpoint, isUsed }: PlacedEndpoint): LbEndpoint {
  const [first, ...others] = endpoint.addresses;
  const { port } = endpoint;
  const value = {
    address: toAddress(first, port),
    hostname: '',
    additionalAddresses: others.map((address) => ({ address: toAddress(address, port) })),
  };
  return {
    hostIdentifier: { $case: 'endpoint', value },
    healthStatus: isUsed ? HealthStatus.HEALTHY : HealthStatus.DRAINING,
    metadata: undefined,
    loadBalancingWeight: undefined,
  };
}

/** Returns an address of a message: an IP address, or a name to look up. */
export function toAddress(address: string, port: number): Address {
  const value = {
    protocol: SocketAddress_Protocol.TCP,
    address,
    portSpecifier: { $case: 'portValue', value: port } as const,
    resolverName: '',
  };
  return { address: { $case: 'socketAddress', value } };
}
