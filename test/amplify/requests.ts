import type { Json } from '../support/xds-json';
import type { ServerPorts } from './client-child';
import { CLUSTER } from './hostile-server';

/** A request to a server of this package. */
export interface Request {
  readonly method: string;
  readonly server: keyof ServerPorts;
  readonly sample: Json;
}

const ADS = '/envoy.service.discovery.v3.AggregatedDiscoveryService';
const type_url = `type.googleapis.com/${CLUSTER}`;
const locality = { region: 'r', zone: 'z', sub_zone: 's' };
const load_metric_stats = [{ metric_name: 'm', num_requests_finished_with_metric: '1' }];

/** The requests that servers of this package read, by the full name of the message. */
export const requests: ReadonlyMap<string, Request> = new Map<string, Request>([
  [
    'envoy.service.status.v3.ClientStatusRequest',
    {
      method: '/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus',
      server: 'admin',
      sample: {},
    },
  ],
  [
    'xds.service.orca.v3.OrcaLoadReportRequest',
    {
      method: '/xds.service.orca.v3.OpenRcaService/StreamCoreMetrics',
      server: 'admin',
      sample: { request_cost_names: ['a'] },
    },
  ],
  [
    'envoy.service.discovery.v3.DiscoveryRequest',
    {
      method: `${ADS}/StreamAggregatedResources`,
      server: 'controlPlane',
      sample: { node: { id: 'n' }, type_url, resource_names: ['a'] },
    },
  ],
  [
    'envoy.service.discovery.v3.DeltaDiscoveryRequest',
    {
      method: `${ADS}/DeltaAggregatedResources`,
      server: 'controlPlane',
      sample: { node: { id: 'n' }, type_url, resource_names_subscribe: ['a'] },
    },
  ],
  [
    'envoy.service.load_stats.v3.LoadStatsRequest',
    {
      method: '/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats',
      server: 'controlPlane',
      sample: {
        node: { id: 'n' },
        cluster_stats: [
          {
            cluster_name: 'a',
            upstream_locality_stats: [{ locality, load_metric_stats }],
            dropped_requests: [{ category: 'c', dropped_count: '1' }],
          },
        ],
      },
    },
  ],
]);
