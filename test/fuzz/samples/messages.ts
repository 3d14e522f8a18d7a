import { encodeMessage } from '../../resources/decode-json';
import type { Json } from '../../support/xds-json';
import { resourceSamples } from './resources';
import { deltaResponseSamples, responseSamples } from './responses';

/** Encoded messages to begin with, by the full name of the message. */
export function encodedSamples(messageName: string): readonly Uint8Array[] {
  const samples = resourceSamples.get(messageName) ?? otherSamples.get(messageName) ?? [];
  return samples.map((json) => encodeMessage(messageName, json));
}

const otherSamples: ReadonlyMap<string, readonly Json[]> = new Map<string, readonly Json[]>([
  ['envoy.service.discovery.v3.DiscoveryResponse', responseSamples],
  ['envoy.service.discovery.v3.DeltaDiscoveryResponse', deltaResponseSamples],
  [
    'envoy.service.load_stats.v3.LoadStatsResponse',
    [{ clusters: ['a', 'b'], load_reporting_interval: '1.5s', report_endpoint_granularity: true }],
  ],
  [
    'xds.data.orca.v3.OrcaLoadReport',
    [
      {
        cpu_utilization: 0.5,
        mem_utilization: 0.1,
        rps_fractional: 10,
        eps: 1,
        application_utilization: 0.25,
        utilization: { disk: 0.5 },
        named_metrics: { q: 1, r: 2 },
        request_cost: { c: 3 },
      },
    ],
  ],
]);
