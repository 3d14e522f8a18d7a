import { DataPointType } from '@opentelemetry/sdk-metrics';
import { CallStats, type PickHeaders } from '../../../src/observe/stats/call-stats';
import { processStats } from '../../../src/observe/stats/stats-registry';
import { FakeClock } from '../../support/fake-clock';
import { MetricsReader, WAYS } from '../../support/metrics-reader';

/** The headers of a pick, as the host library has them for an attempt after others. */
function headersAfter(previous: number): PickHeaders {
  return { get: () => (previous === 0 ? [] : [`${previous}`]), set() {} };
}

const frame = (size: number) => Buffer.alloc(5 + size);

describe.each(WAYS)('an observed call with a %s', (way) => {
  const clock = new FakeClock();
  let reader: MetricsReader;
  beforeEach(() => {
    reader = new MetricsReader(way, {
      enableMetrics: [
        'grpc.client.call.retries',
        'grpc.client.call.transparent_retries',
        'grpc.client.call.retry_delay',
      ],
    });
  });
  afterEach(() => reader.stop());

  function start(): CallStats {
    const tracer = processStats.forChannel('xds:///a')?.startCall('/a.B/C');
    if (tracer === undefined) throw new Error('the call is not observed');
    return new CallStats(tracer, clock);
  }

  const sums = async (name: string) =>
    (await reader.series(`grpc.client.${name}`)).map(({ labels, value, sum }) => [
      labels['grpc.status'],
      value,
      sum,
    ]);

  it('has its attempts with their times and sizes, and the time between them', async () => {
    const call = start();
    // 1. Waits 10 ms in filters and 20 ms for an endpoint; sends 100 bytes; fails after 30 ms more.
    clock.advance(10);
    call.startPick(headersAfter(0));
    call.onQueued();
    clock.advance(20);
    call.startPick(headersAfter(0));
    call.onSent('');
    call.onMessageSent(1, frame(100));
    clock.advance(30);
    call.endAttempt(1, 14, 'gone');
    // 2. A second attempt is refused by the server, and repeated at once, so that it counts as transparent.
    clock.advance(250);
    call.startPick(headersAfter(1));
    call.endAttempt(2, 14, 'refused');
    call.startPick(headersAfter(1));
    call.onMessageSent(3, frame(100));
    clock.advance(5);
    call.onMessageReceived(3, frame(2000));
    call.endAttempt(3, 0, '');
    call.end(0, '');
    expect(await sums('attempt.started')).toEqual([[undefined, 3, undefined]]);
    expect(await sums('attempt.duration')).toEqual([
      ['OK', 1, 0.005],
      ['UNAVAILABLE', 2, 0.05],
    ]);
    expect(await sums('attempt.sent_total_compressed_message_size')).toEqual([
      ['OK', 1, 100],
      ['UNAVAILABLE', 2, 100],
    ]);
    expect(await sums('attempt.rcvd_total_compressed_message_size')).toEqual([
      ['OK', 1, 2000],
      ['UNAVAILABLE', 2, 0],
    ]);
    expect(await sums('call.duration')).toEqual([['OK', 1, 0.315]]);
    expect(await sums('call.retries')).toEqual([[undefined, 1, 1]]);
    expect(await sums('call.transparent_retries')).toEqual([[undefined, 1, 1]]);
    expect(await sums('call.retry_delay')).toEqual([[undefined, 1, 0.25]]);
  });

  it('is counted in the bucket whose bound its duration reaches', async () => {
    for (const ms of [0, 1, 1.5, 100_000, 100_001]) {
      const call = start();
      clock.advance(ms);
      call.end(0, '');
    }
    const metric = (await reader.metrics()).get('grpc.client.call.duration');
    if (metric?.dataPointType !== DataPointType.HISTOGRAM) throw new Error('not a histogram');
    const [{ value } = { value: undefined }] = metric.dataPoints;
    const { boundaries = [], counts = [] } = value?.buckets ?? {};
    const filled = counts.flatMap((count, i) => (count > 0 ? [[boundaries[i], count]] : []));
    expect(filled).toEqual([
      [0, 1],
      [0.001, 1],
      [0.002, 1],
      [100, 1],
      [undefined, 1],
    ]);
    expect([value?.count, value?.min, value?.max]).toEqual([5, 0, 100.001]);
  });

  it('has an attempt of unknown status where the host library retries without a word', async () => {
    const call = start();
    call.startPick(headersAfter(0));
    clock.advance(40);
    call.startPick(headersAfter(1));
    call.end(16, 'no credentials');
    expect(await sums('attempt.duration')).toEqual([
      ['UNAUTHENTICATED', 1, 0],
      ['UNKNOWN', 1, 0.04],
    ]);
  });

  it('ends once: what the host library does with it afterwards does not count', async () => {
    const call = start();
    call.startPick(headersAfter(0));
    call.end(1, 'cancelled');
    call.endAttempt(1, 0, '');
    call.startPick(headersAfter(0));
    call.onMessageSent(1, frame(1));
    call.end(0, '');
    expect(await sums('attempt.started')).toEqual([[undefined, 1, undefined]]);
    expect(await sums('attempt.duration')).toEqual([['CANCELLED', 1, 0]]);
    expect(await sums('call.duration')).toEqual([['CANCELLED', 1, 0]]);
  });
});
