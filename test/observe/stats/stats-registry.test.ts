import { CallStats } from '../../../src/observe/stats/call-stats';
import { canonicalTarget } from '../../../src/observe/opentelemetry/plugins';
import { processStats } from '../../../src/observe/stats/stats-registry';
import { FakeClock } from '../../support/fake-clock';
import { MetricsReader } from '../../support/metrics-reader';

describe('canonicalTarget', () => {
  it.each([
    ['xds:a', 'xds:///a'],
    ['xds:///a', 'xds:///a'],
    ['xds://traffic/a', 'xds://traffic/a'],
    ['dns:localhost:80', 'dns:///localhost:80'],
    ['dns://8.8.8.8/localhost:80', 'dns://8.8.8.8/localhost:80'],
    ['ipv4:127.0.0.1:80', 'ipv4:///127.0.0.1:80'],
    ['unix:/run/a.sock', 'unix:///run/a.sock'],
    ['unix:a.sock', 'unix:///a.sock'],
  ])('writes %s as %s', (uri, expected) => {
    expect(canonicalTarget(uri)).toBe(expected);
  });
});

describe('several observations', () => {
  const readers = [
    new MetricsReader('MeterProvider', { disableMetrics: ['grpc.client.call.duration'] }),
    new MetricsReader('MetricProducer'),
  ];
  afterAll(() => Promise.all(readers.map((reader) => reader.stop())));

  it('each record what they have enabled', async () => {
    const stats = processStats.forChannel('xds:a');
    const tracer = stats?.startCall('/a.B/C');
    if (tracer === undefined) throw new Error('the call is not observed');
    new CallStats(tracer, new FakeClock()).end(0, '');
    const names = readers.map(async (reader) => [...(await reader.metrics()).keys()]);
    expect(await Promise.all(names)).toEqual([[], ['grpc.client.call.duration']]);
  });
});
