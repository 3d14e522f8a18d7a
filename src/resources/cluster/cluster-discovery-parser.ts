import {
  Cluster_DiscoveryType,
  type Cluster,
  type Cluster_CustomClusterType,
} from '../../wire/generated/envoy/config/cluster/v3/cluster';
import type { ClusterLoadAssignment } from '../../wire/generated/envoy/config/endpoint/v3/endpoint';
import { ClusterConfig } from '../../wire/generated/envoy/extensions/clusters/aggregate/v3/cluster';
import type { Violations } from '../../util/violations';
import { MAX_PORT } from '../shared/socket-address-parser';
import type { ExtensionPoints } from '../extension-points';
import { enumName } from '../../util/enum-name';
import { unpackAny } from '../shared/any';
import { checkConfigSource } from '../resource-parser';
import type { ClusterDiscovery } from './cluster';

const aggregateType = {
  typeName: 'envoy.extensions.clusters.aggregate.v3.ClusterConfig',
  decoder: ClusterConfig,
};

/** How the endpoints of a cluster are found (gRFC A37); `undefined` after adding a violation. */
export function parseClusterDiscovery(
  cluster: Cluster,
  extensions: Pick<ExtensionPoints, 'federation'>,
  violations: Violations,
): ClusterDiscovery | undefined {
  const { clusterDiscoveryType } = cluster;
  if (clusterDiscoveryType?.$case === 'clusterType') {
    return parseAggregate(clusterDiscoveryType.value, violations.at('cluster_type'));
  }
  const type = clusterDiscoveryType?.value;
  if (type === Cluster_DiscoveryType.EDS) return parseEds(cluster, extensions, violations);
  if (type === Cluster_DiscoveryType.LOGICAL_DNS) {
    return parseLogicalDns(cluster.loadAssignment, violations.at('load_assignment'));
  }
  const found = type === undefined ? 'missing' : enumName(Cluster_DiscoveryType, type);
  return violations
    .at('type')
    .add(`must be EDS or LOGICAL_DNS, unless cluster_type makes an aggregate, but is ${found}`);
}

function parseEds(
  { name, edsClusterConfig }: Cluster,
  { federation = true }: Pick<ExtensionPoints, 'federation'>,
  violations: Violations,
): ClusterDiscovery | undefined {
  const at = violations.at('eds_cluster_config');
  if (edsClusterConfig === undefined) return at.add('field not present');
  const { edsConfig, serviceName } = edsClusterConfig;
  checkConfigSource(edsConfig, ['ads', 'self'], at.at('eds_config'));
  // The name of a cluster is not the name of an assignment under the new naming scheme (gRFC A47).
  if (federation && serviceName === '' && name.startsWith('xdstp:')) {
    at.at('service_name').add('must not be empty, because the name of the cluster is an xdstp one');
  }
  return { kind: 'eds', edsResourceName: serviceName === '' ? name : serviceName, serviceName };
}

function parseLogicalDns(
  assignment: ClusterLoadAssignment | undefined,
  violations: Violations,
): ClusterDiscovery | undefined {
  if (assignment === undefined) return violations.add('field not present');
  const localitiesAt = violations.at('endpoints');
  const locality = theOnly(assignment.endpoints, 'locality', localitiesAt);
  const endpointsAt = localitiesAt.index(0).at('lb_endpoints');
  const lbEndpoint = locality && theOnly(locality.lbEndpoints, 'endpoint', endpointsAt);
  if (lbEndpoint === undefined) return undefined;
  const identifier = lbEndpoint.hostIdentifier;
  const address = identifier?.$case === 'endpoint' ? identifier.value.address?.address : undefined;
  const at = endpointsAt.index(0).at('endpoint').at('address').at('socket_address');
  if (address?.$case !== 'socketAddress') return at.add('field not present');
  const { address: host, portSpecifier, resolverName } = address.value;
  if (host === '') at.at('address').add('must not be empty');
  if (resolverName !== '') at.at('resolver_name').add('must be empty');
  if (portSpecifier?.$case !== 'portValue') return at.at('port_value').add('field not present');
  const port = portSpecifier.value;
  if (port > MAX_PORT) at.at('port_value').add(`must not exceed ${MAX_PORT}, but is ${port}`);
  return { kind: 'logical-dns', host, port };
}

function theOnly<T>(list: readonly T[], noun: string, violations: Violations): T | undefined {
  const [only] = list;
  if (list.length === 1) return only;
  return violations.add(`a LOGICAL_DNS cluster must have exactly one ${noun}, not ${list.length}`);
}

function parseAggregate(
  { typedConfig }: Cluster_CustomClusterType,
  violations: Violations,
): ClusterDiscovery | undefined {
  const at = violations.at('typed_config');
  const config = unpackAny(typedConfig, aggregateType, at);
  if (config === undefined) return undefined;
  if (config.clusters.length === 0) at.at('clusters').add('must not be empty');
  return { kind: 'aggregate', clusters: config.clusters };
}
