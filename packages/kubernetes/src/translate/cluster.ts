import {
  Cluster,
  Cluster_DiscoveryType,
  Cluster_LbPolicy,
} from '../../../../src/wire/generated/envoy/config/cluster/v3/cluster';
import type { DeepPartial } from '../../../../src/wire/protobuf/message-codec';
import { clusterKind } from 'grpc-xds/control-plane';
import { toAddress } from './assignment';
import type { NamedEndpoint } from './merged-endpoints';
import { digestOfJson, type ResourcePlan } from './plan';
import { ADS } from './routing';
import type { ServicePolicy } from './service-policy';

/** The input of the cluster of a port. */
export interface ClusterModel {
  readonly name: string;
  readonly namespaces: readonly string[];
  readonly policy: ServicePolicy;
  /** The name that clients look up; `undefined` for a cluster with an endpoint assignment. */
  readonly dnsName: NamedEndpoint | undefined;
}

/** Plans the cluster of a port, which is the same for all audiences. */
export function planCluster(model: ClusterModel): ResourcePlan {
  return {
    kind: clusterKind,
    name: model.name,
    namespaces: model.namespaces,
    digest: digestOfJson(model),
    variantOf: () => '',
    encode: () => Cluster.encode(Cluster.create(toMessage(model))).finish(),
  };
}

function toMessage({ name, policy, dnsName }: ClusterModel): DeepPartial<Cluster> {
  const { maxRequests, outlierDetection } = policy;
  return {
    name,
    ...(dnsName === undefined ? EDS : dnsCluster(name, dnsName)),
    ...lbOf(policy.lb),
    ...(maxRequests === undefined ? {} : { circuitBreakers: { thresholds: [{ maxRequests }] } }),
    ...(outlierDetection === undefined ? {} : { outlierDetection }),
  };
}

/** The name of the assignment is that of the cluster. */
const EDS: DeepPartial<Cluster> = {
  clusterDiscoveryType: { $case: 'type', value: Cluster_DiscoveryType.EDS },
  edsClusterConfig: { edsConfig: ADS },
};

function dnsCluster(clusterName: string, { host, port }: NamedEndpoint): DeepPartial<Cluster> {
  const value = { address: toAddress(host, port) };
  const lbEndpoints = [{ hostIdentifier: { $case: 'endpoint', value } as const }];
  return {
    clusterDiscoveryType: { $case: 'type', value: Cluster_DiscoveryType.LOGICAL_DNS },
    loadAssignment: { clusterName, endpoints: [{ lbEndpoints }] },
  };
}

function lbOf(lb: ServicePolicy['lb']): DeepPartial<Cluster> {
  switch (lb.kind) {
    case 'round_robin':
      return {};
    case 'ring_hash':
      return { lbPolicy: Cluster_LbPolicy.RING_HASH };
    case 'least_request': {
      const value = { choiceCount: lb.choiceCount };
      return {
        lbPolicy: Cluster_LbPolicy.LEAST_REQUEST,
        lbConfig: { $case: 'leastRequestLbConfig', value },
      };
    }
  }
}
