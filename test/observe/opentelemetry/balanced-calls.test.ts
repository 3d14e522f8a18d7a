import { eventually } from '../../support/eventually';
import { HeadersBackend } from '../../support/headers-backend';
import { Mesh, SERVICE, simpleResources } from '../../support/mesh';
import { MetricsReader, WAYS } from '../../support/metrics-reader';
import { ObedientBackend, ObedientClient } from '../../support/obedient-backend';
import { edsClusterJson, lbPolicyJson } from '../../support/xds-json';

jest.setTimeout(60_000);

const WEIGHTED_ROUND_ROBIN = {
  load_balancing_policy: lbPolicyJson('wrr_locality.v3.WrrLocality', {
    endpoint_picking_policy: lbPolicyJson(
      'client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin',
      { blackout_period: '0s', weight_update_period: '0.1s' },
    ),
  }),
};
const OUTLIER_DETECTION = {
  outlier_detection: {
    interval: '0.1s',
    enforcing_success_rate: 0,
    enforcing_failure_percentage: 100,
    failure_percentage_minimum_hosts: 1,
    failure_percentage_request_volume: 1,
    failure_percentage_threshold: 50,
  },
};
const place = {
  'grpc.target': `xds:///${SERVICE}`,
  'grpc.lb.locality': '{region="test", zone="a", sub_zone=""}',
  'grpc.lb.backend_service': 'echo',
};

describe.each(WAYS)('metrics of balanced calls to real servers with a %s', (way) => {
  let mesh: Mesh;
  let reader: MetricsReader;
  beforeEach(async () => {
    mesh = await Mesh.start();
  });
  afterEach(async () => {
    mesh.stop();
    await reader.stop();
  });

  it('have the weights that servers report, and the updates without', async () => {
    reader = new MetricsReader(way, {
      enableMetrics: [
        'grpc.lb.wrr.rr_fallback',
        'grpc.lb.wrr.endpoint_weight_not_yet_usable',
        'grpc.lb.wrr.endpoint_weights',
      ],
      optionalLabels: ['grpc.lb.locality', 'grpc.lb.backend_service'],
    });
    const load = { rpsFractional: 100, applicationUtilization: 0.5 };
    const backends = [await ObedientBackend.start(load), await ObedientBackend.start(load)];
    mesh.serve({
      ...simpleResources(backends.map(({ port }) => port)),
      clusters: [edsClusterJson('echo', WEIGHTED_ROUND_ROBIN)],
    });
    const client = new ObedientClient(`xds:///${SERVICE}`);
    const weights = () => reader.series('grpc.lb.wrr.endpoint_weights');
    // 1. Without a report, every update goes by turns.
    await client.calls(1, 'ok');
    await eventually(
      () => reader.series('grpc.lb.wrr.rr_fallback'),
      ([series]) => (series?.value ?? 0) > 0,
    );
    const [unusable] = await reader.series('grpc.lb.wrr.endpoint_weight_not_yet_usable');
    expect(unusable?.labels).toEqual(place);
    // 2. Each report gives a weight of 100 / 0.5.
    await client.calls(20, 'ok');
    await eventually(weights, ([series]) => (series?.sum ?? 0) > 0);
    const [recorded, ...others] = await weights();
    expect(others).toEqual([]);
    expect(recorded?.labels).toEqual(place);
    expect((recorded?.sum ?? NaN) % 200).toBe(0);
    client.close();
    for (const backend of backends) backend.stop();
  });

  it('have the ejection of a server that fails its calls', async () => {
    reader = new MetricsReader(way, {
      enableMetrics: [
        'grpc.lb.outlier_detection.ejections_enforced',
        'grpc.lb.outlier_detection.ejections_unenforced',
      ],
      optionalLabels: ['grpc.lb.backend_service'],
    });
    const [good, bad] = [await HeadersBackend.start(), await HeadersBackend.start()];
    bad.failures = Infinity;
    mesh.serve({
      ...simpleResources([good.port, bad.port]),
      clusters: [edsClusterJson('echo', OUTLIER_DETECTION)],
    });
    const client = mesh.client();
    const ejections = await eventually(
      async () => {
        await client.say().catch(() => {});
        return reader.series('grpc.lb.outlier_detection.ejections_enforced');
      },
      (series) => series.length > 0,
    );
    expect(ejections).toEqual([
      {
        labels: {
          'grpc.target': `xds:///${SERVICE}`,
          'grpc.lb.outlier_detection.detection_method': 'failure_percentage',
          'grpc.lb.backend_service': 'echo',
        },
        value: 1,
        sum: undefined,
      },
    ]);
    expect(await reader.series('grpc.lb.outlier_detection.ejections_unenforced')).toEqual([]);
    good.stop();
    bad.stop();
  });
});
