import {
  ControlPlane,
  Snapshot,
  type ControlPlaneOptions,
  type LoadReport,
} from '../../src/control-plane';
import { eventually } from '../support/eventually';
import { OfficialClient } from './official-client';
import { cluster, endpoints } from './resources';

const method = 'envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats';

interface LoadResponse {
  readonly clusters: readonly string[];
  readonly send_all_clusters: boolean;
  readonly load_reporting_interval: { readonly seconds: string; readonly nanos: number };
  readonly report_endpoint_granularity: boolean;
}

const canSendAll = { client_features: ['envoy.lrs.supports_send_all_clusters'] };
const here = { region: 'eu', zone: 'a', sub_zone: '' };
const there = { region: 'eu', zone: 'b', sub_zone: '' };

/** Returns the load of one locality with the four call counters of a report. */
const load = (locality: object, issued: number, ok: number, errors: number, running: number) => ({
  locality,
  total_issued_requests: issued,
  total_successful_requests: ok,
  total_error_requests: errors,
  total_requests_in_progress: running,
});

describe('the load reporting service of the control plane', () => {
  const cleanUp: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const task of cleanUp.splice(0).reverse()) await task();
  });

  async function setUp(options: ControlPlaneOptions = {}) {
    const reports: [string, LoadReport][] = [];
    const server = new ControlPlane({
      ...options,
      onLoadReport: ({ nodeId }, report) => reports.push([nodeId, report]),
    });
    const { address } = await server.start();
    const client = new OfficialClient(address);
    cleanUp.push(() => server.close());
    cleanUp.push(() => client.close());
    const open = (node: object) => {
      const stream = client.call<LoadResponse>(method);
      stream.send({ node });
      return stream;
    };
    const count = (expected: number) =>
      eventually(
        () => reports.length,
        (n) => n >= expected,
      );
    return { server, open, reports, count };
  }

  it('requests all clusters every ten seconds by default', async () => {
    const { open } = await setUp();
    expect(await open({ id: 'n', ...canSendAll }).next()).toEqual({
      clusters: [],
      send_all_clusters: true,
      load_reporting_interval: { seconds: '10', nanos: 0 },
      report_endpoint_granularity: false,
    });
  });

  it('requests the clusters of the snapshot from clients without send_all_clusters', async () => {
    const snapshot = Snapshot.from({ clusters: [cluster('a')], endpoints: [endpoints('a', 1)] });
    const { server, open } = await setUp({ snapshot });
    const stream = open({ id: 'old' });
    expect(await stream.next()).toMatchObject({ clusters: ['a'], send_all_clusters: false });
    server.setSnapshot(snapshot.merge({ endpoints: [endpoints('a', 2)] }));
    server.setSnapshot(
      snapshot.merge({ clusters: [cluster('b')], endpoints: [endpoints('b', 1)] }),
    );
    expect(await stream.next()).toMatchObject({ clusters: ['a', 'b'] });
    expect(stream.received).toEqual([]);
  });

  it('requests the configured clusters and interval, and sends changes', async () => {
    const { server, open } = await setUp({
      loadReporting: { intervalMs: 1500, clusters: ['a'], reportEndpointGranularity: true },
    });
    const stream = open({ id: 'n', ...canSendAll });
    expect(await stream.next()).toEqual({
      clusters: ['a'],
      send_all_clusters: false,
      load_reporting_interval: { seconds: '1', nanos: 500_000_000 },
      report_endpoint_granularity: true,
    });
    server.setLoadReporting({ intervalMs: 1500 });
    expect(await stream.next()).toMatchObject({ clusters: [], send_all_clusters: true });
  });

  it('reports the loads of a request', async () => {
    const { open, reports, count } = await setUp();
    const stream = open({ id: 'n', ...canSendAll });
    stream.send({
      cluster_stats: [
        {
          cluster_name: 'a',
          cluster_service_name: 'a-eds',
          load_report_interval: { seconds: 2, nanos: 5e8 },
          total_dropped_requests: 5,
          dropped_requests: [{ category: 'throttle', dropped_count: 3 }],
          upstream_locality_stats: [
            {
              ...load(here, 10, 6, 3, 1),
              priority: 1,
              cpu_utilization: { num_requests_finished_with_metric: 2, total_metric_value: 0.5 },
              load_metric_stats: [
                {
                  metric_name: 'named_metrics.queue',
                  num_requests_finished_with_metric: 4,
                  total_metric_value: 8,
                },
              ],
            },
          ],
        },
      ],
    });
    await count(1);
    expect(reports).toEqual([
      [
        'n',
        {
          clusters: [
            {
              cluster: 'a',
              serviceName: 'a-eds',
              intervalMs: 2500,
              totalDropped: 5,
              droppedByCategory: new Map([['throttle', 3]]),
              localities: [
                {
                  region: 'eu',
                  zone: 'a',
                  subZone: '',
                  priority: 1,
                  issued: 10,
                  succeeded: 6,
                  failed: 3,
                  inProgress: 1,
                  metrics: new Map([
                    ['cpu_utilization', { calls: 2, total: 0.5 }],
                    ['named_metrics.queue', { calls: 4, total: 8 }],
                  ]),
                },
              ],
            },
          ],
        },
      ],
    ]);
  });

  // 1. One node reports twice, another once: counters are summed by locality.
  // 2. Calls in progress are those of each client's last report.
  // 3. A stream ends: its calls in progress are removed, its counters stay.
  it('totals loads by cluster and locality', async () => {
    const { server, open, count } = await setUp();
    const report = (...localities: readonly object[]) => ({
      cluster_stats: [
        {
          cluster_name: 'a',
          load_report_interval: { seconds: 1 },
          total_dropped_requests: 2,
          dropped_requests: [{ category: 'x', dropped_count: 1 }],
          upstream_locality_stats: localities,
        },
      ],
    });
    const first = open({ id: 'one', ...canSendAll });
    first.send(report(load(here, 10, 7, 1, 2), load(there, 1, 1, 0, 0)));
    first.send(report(load(here, 5, 5, 1, 1)));
    await count(2);
    const second = open({ id: 'two', ...canSendAll });
    second.send(report(load(there, 100, 90, 0, 10)));
    await count(3);

    const at = (nodeId?: string) =>
      server
        .loads(nodeId)
        .flatMap(({ localities }) =>
          localities.map(({ zone, issued, succeeded, failed, inProgress }) =>
            [zone, issued, succeeded, failed, inProgress].join(' '),
          ),
        );
    expect(at()).toEqual(['a 15 12 2 1', 'b 101 91 0 10']);
    expect(at('one')).toEqual(['a 15 12 2 1', 'b 1 1 0 0']);
    expect(at('unknown')).toEqual([]);
    expect(server.loads()[0]).toMatchObject({
      intervalMs: 3000,
      totalDropped: 6,
      droppedByCategory: new Map([['x', 3]]),
    });

    expect(server.loadClients().map(({ nodeId }) => nodeId)).toEqual(['one', 'two']);
    second.cancel();
    await eventually(
      () => server.loadClients().length,
      (n) => n === 1,
    );
    expect(at()).toEqual(['a 15 12 2 1', 'b 101 91 0 0']);
    server.clearLoads();
    expect(server.loads()).toEqual([]);
  });

  it('ends a stream when the client half-closes it and when it stops', async () => {
    const { server, open } = await setUp();
    const first = open({ id: 'one' });
    await first.next();
    first.end();
    expect(await first.ended).toMatchObject({ code: 0 });
    const second = open({ id: 'two' });
    await second.next();
    await server.close();
    expect(await second.ended).toEqual({ code: 14, details: 'the control plane is shutting down' });
    expect(server.loadClients()).toEqual([]);
  });
});
