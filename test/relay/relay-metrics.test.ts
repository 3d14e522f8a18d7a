import { AdsClient } from '../control-plane/ads-client';
import { CDS, echo } from '../control-plane/resources';
import { MetricsReader, WAYS } from '../support/metrics-reader';
import { eventually } from '../support/eventually';
import { RelayScene } from './relay-scene';

const METRICS = ['clients', 'subscriptions', 'relayed_size', 'rejections'];
const type = { 'grpc.xds.resource_type': 'envoy.config.cluster.v3.Cluster' };
const target = { 'grpc.target': '#relay' };

describe.each(WAYS)('the metrics of a relay, by a %s', (way) => {
  it('count its clients, what they subscribe to, the bytes they get and what they reject', async () => {
    const reader = new MetricsReader(way, {
      enableMetrics: [
        ...METRICS.map((name) => `grpc_xds.relay.${name}`),
        'grpc.xds_client.connected',
      ],
    });
    const scene = await RelayScene.start();
    const client = new AdsClient(scene.listen);
    try {
      scene.serve(echo);
      const [good, bad] = [client.open(), client.open()];
      good.subscribe(CDS, ['echo', 'none'], { node: { id: 'good' } });
      const received = await good.next();
      bad.subscribe(CDS, ['echo'], { node: { id: 'bad' } });
      bad.nack(await bad.next(), ['echo'], 'no good');
      await eventually(
        () => scene.relay.inspect().clients,
        (clients) => clients[1]?.types[0]?.rejection !== undefined,
      );
      const bytes = received.resources[0]?.value.length ?? 0;
      const valuesOf = async (name: string) =>
        (await reader.series(name)).map(({ labels, value }) => ({ labels, value }));
      expect(await valuesOf('grpc_xds.relay.clients')).toEqual([{ labels: target, value: 2 }]);
      const ofType = (value: number) => [{ labels: { ...target, ...type }, value }];
      expect(await valuesOf('grpc_xds.relay.subscriptions')).toEqual(ofType(3));
      expect(await valuesOf('grpc_xds.relay.rejections')).toEqual(ofType(1));
      const [relayed] = await valuesOf('grpc_xds.relay.relayed_size');
      expect(bytes).toBeGreaterThan(0);
      expect(relayed).toEqual({ labels: { ...target, ...type }, value: 2 * bytes });
      expect(await valuesOf('grpc.xds_client.connected')).toEqual([
        { labels: { ...target, 'grpc.xds.server': scene.upstream }, value: 1 },
      ]);
      await scene.relay.close();
      await eventually(
        () => valuesOf('grpc_xds.relay.clients'),
        // A MeterProvider keeps a series that has ended, with 0.
        (series) => series.every(({ value }) => value === 0),
      );
    } finally {
      client.close();
      scene.stop();
      await reader.stop();
    }
  });
});
