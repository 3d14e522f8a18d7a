import {
  Cluster_DiscoveryType,
  type Cluster,
} from '../../wire/generated/envoy/config/cluster/v3/cluster';
import { enumName } from '../../util/enum-name';
import { late } from '../../util/late';
import type { Violations } from '../../util/violations';
import type { ExtensionPoints } from '../extension-points';
import { checkConfigSource } from '../resource-parser';
import type * as Uncommon from '../uncommon-parsers';
import type { ClusterDiscovery } from './cluster';

const loadUncommon = late<typeof Uncommon>(() => require('../uncommon-parsers'));

/** How the endpoints of a cluster are found (gRFC A37); `undefined` after adding a violation. */
export function parseClusterDiscovery(
  cluster: Cluster,
  extensions: Pick<ExtensionPoints, 'federation'>,
  violations: Violations,
): ClusterDiscovery | undefined {
  const { clusterDiscoveryType } = cluster;
  if (clusterDiscoveryType?.$case === 'clusterType') {
    const { value } = clusterDiscoveryType;
    return loadUncommon().parseAggregate(value, violations.at('cluster_type'));
  }
  const type = clusterDiscoveryType?.value;
  if (type === Cluster_DiscoveryType.EDS) return parseEds(cluster, extensions, violations);
  if (type === Cluster_DiscoveryType.LOGICAL_DNS) {
    const at = violations.at('load_assignment');
    return loadUncommon().parseLogicalDns(cluster.loadAssignment, at);
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
