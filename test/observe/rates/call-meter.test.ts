import { CallMeter } from '../../../src/observe/rates/call-meter';
import { bucketOf, percentile, BUCKETS } from '../../../src/observe/rates/latency-buckets';
import { RateSum, type RateColumns } from '../../../src/observe/rates/rate-sum';
import { RecentCount } from '../../../src/observe/rates/recent-count';

const OK = 0;
const CANCELLED = 1;
const UNAVAILABLE = 14;
/** When counting began: not at the start of a second. */
const SINCE_MS = 5_250;
/** The time of day at which the monotonic clock was 0. */
const EPOCH_MS = Date.UTC(2026, 0, 1);

describe('the meter of calls', () => {
  let meter: CallMeter;
  beforeEach(() => {
    meter = new CallMeter();
  });

  function read(nowMs: number, of: readonly CallMeter[] = [meter]): RateColumns {
    const sum = new RateSum();
    for (const each of of) each.addTo(sum, nowMs);
    return sum.toColumns('calls', { sinceMs: SINCE_MS, nowMs, epochMs: EPOCH_MS });
  }

  function call(atMs: number, code = OK, latencyMs = 0): void {
    meter.start(atMs);
    meter.end(atMs + latencyMs, code, latencyMs);
  }

  it('has nothing before the first call', () => {
    expect(read(SINCE_MS)).toEqual({
      counts: 'calls',
      seconds: 1,
      rate: 0,
      errorRate: 0,
      errors: [],
      inFlight: 0,
    });
  });

  it('divides by the time since counting began, then by ten seconds', () => {
    // Five calls a second from the beginning.
    let nextMs = SINCE_MS;
    const callUntil = (endMs: number) => {
      for (; nextMs < endMs; nextMs += 200) call(nextMs);
    };
    callUntil(8_900);
    // The second that has not passed is not in it.
    expect(read(8_900).rate).toBeCloseTo(14 / 2.75, 1);
    callUntil(20_000);
    expect(read(20_000).rate).toBe(5);
    callUntil(60_000);
    expect(read(59_999).rate).toBe(5);
    expect(read(65_000).rate).toBe(2.5);
    expect(read(70_000).rate).toBe(0);
  });

  it('counts what ended by status, the most frequent first', () => {
    for (let index = 0; index < 5; index++) call(20_000, UNAVAILABLE);
    for (let index = 0; index < 7; index++) call(20_500, CANCELLED);
    for (let index = 0; index < 88; index++) call(21_500);
    call(21_600, 99);
    const { rate, errorRate, errors, cancelled } = read(22_000);
    // The application has cancelled calls itself: these did not fail.
    expect([rate, errorRate, cancelled]).toEqual([10.1, 0.6, 7]);
    expect(errors).toEqual(['UNAVAILABLE 5', 'other 1']);
    expect(read(40_000)).toMatchObject({ rate: 0, errorRate: 0, errors: [] });
  });

  it('names four statuses at most', () => {
    for (let code = 1; code <= 16; code++) call(20_000, code);
    expect(read(21_000).errors).toHaveLength(4);
    expect(read(21_000).errorRate).toBe(1.5);
  });

  it('counts a call that is in flight for longer than its seconds', () => {
    meter.start(20_000);
    expect(read(300_000)).toMatchObject({ inFlight: 1, rate: 0 });
    meter.end(600_000, OK, 580_000);
    expect(read(601_000)).toMatchObject({
      inFlight: 0,
      rate: 0,
      p50: expect.any(Number) as unknown,
    });
  });

  it('reads the median and the 99th percentile at most 13 % off', () => {
    for (let latencyMs = 1; latencyMs <= 200; latencyMs++) call(20_000, OK, latencyMs);
    const { p50 = 0, p99 = 0 } = read(21_000);
    expect(Math.abs(p50 / 100 - 1)).toBeLessThan(0.13);
    expect(Math.abs(p99 / 198 - 1)).toBeLessThan(0.13);
  });

  it('draws five minutes in slots of ten seconds, from the first whole one on', () => {
    for (let atMs = SINCE_MS; atMs < 1_000_000; atMs += 500) {
      call(atMs, atMs >= 100_000 && atMs < 110_000 ? UNAVAILABLE : OK);
    }
    const young = new CallMeter();
    young.start(SINCE_MS);
    expect(read(19_999, [young])).not.toHaveProperty('trend');
    expect(read(20_000, [young]).trend).toEqual([0]);
    const { trend, errorTrend } = read(1_000_000);
    expect(trend).toEqual(Array<number>(30).fill(2));
    expect(errorTrend).toBeUndefined();
    // Without another call, the trend goes on.
    expect(read(1_050_000).trend?.slice(-6)).toEqual([2, 0, 0, 0, 0, 0]);
    expect(read(2_000_000).trend).toEqual(Array<number>(30).fill(0));
  });

  it('draws errors of the same times', () => {
    call(100_000, UNAVAILABLE);
    call(110_000);
    expect(read(120_000)).toMatchObject({ errorTrend: [...Array<number>(9).fill(0), 0.1, 0] });
  });

  it('keeps the 99th percentile of each ten seconds, also when the next call comes much later', () => {
    for (let atMs = 100_000; atMs < 110_000; atMs += 100) call(atMs, OK, 10);
    for (let atMs = 110_000; atMs < 119_000; atMs += 100) call(atMs, OK, 400);
    const [before = 0, after = 0, none] = meter.latencyTrend(135_000).slice(-3);
    expect([Math.abs(before / 10 - 1), Math.abs(after / 400 - 1)].every((off) => off < 0.13)).toBe(
      true,
    );
    expect(none).toBe(0);
    expect(meter.latencyTrend(2_000_000)).toEqual([]);
  });

  it('says since when calls fail, until none has failed for ten seconds', () => {
    const sinceAt = (nowMs: number) => read(nowMs).failingSince;
    const iso = (ms: number) => new Date(EPOCH_MS + ms).toISOString();
    call(6_100);
    call(6_400, UNAVAILABLE);
    call(15_000, UNAVAILABLE);
    expect([sinceAt(7_000), sinceAt(25_999), sinceAt(26_000)]).toEqual([
      iso(6_400),
      iso(6_400),
      undefined,
    ]);
    call(40_000, UNAVAILABLE);
    expect(sinceAt(41_000)).toBe(iso(40_000));
    // A gap that is longer than what is shown ends it, however short.
    call(51_100, UNAVAILABLE);
    expect(sinceAt(52_000)).toBe(iso(51_100));
    const stopped = new CallMeter();
    stopped.start(39_000);
    stopped.end(39_500, UNAVAILABLE, 500);
    // What has stopped failing does not count, though its calls go on.
    expect(read(52_000, [meter, stopped]).failingSince).toBe(iso(51_100));
  });

  it('says of several meters since when the first of them fails', () => {
    const iso = (ms: number) => new Date(EPOCH_MS + ms).toISOString();
    call(40_000, UNAVAILABLE);
    const other = new CallMeter();
    other.start(38_000);
    other.end(38_500, UNAVAILABLE, 500);
    expect(read(41_000, [meter, other]).failingSince).toBe(iso(38_500));
  });

  it('adds up several meters', () => {
    const other = new CallMeter();
    other.start(20_000);
    other.end(20_001, OK, 1);
    call(20_000);
    expect(read(30_000, [meter, other])).toMatchObject({ rate: 0.2, inFlight: 0 });
  });

  it('takes back a start, also one of a second before', () => {
    meter.start(20_000);
    meter.withdraw(20_100);
    expect(read(21_000)).toMatchObject({ rate: 0, inFlight: 0 });
    meter.start(22_000);
    meter.withdraw(23_000);
    expect(read(24_000)).toMatchObject({ inFlight: 0 });
    expect(read(24_000).rate).toBeLessThanOrEqual(0.1);
  });

  it('counts no more than 65,535 calls in one second', () => {
    for (let index = 0; index < 70_000; index++) meter.start(20_000);
    expect(read(21_000)).toMatchObject({ rate: 6554, inFlight: 70_000 });
  });

  it('keeps the memory of a day the same', () => {
    const before = process.memoryUsage().arrayBuffers;
    for (let atMs = 0; atMs < 86_400_000; atMs += 700)
      call(atMs, atMs % 3 === 0 ? UNAVAILABLE : OK);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000);
    const sizes = Object.values(meter).map((value: unknown) =>
      ArrayBuffer.isView(value) ? value.byteLength : 8,
    );
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(2_500);
    expect(read(86_400_000).rate).toBeCloseTo(1.43, 1);
  });
});

describe('the buckets of latencies', () => {
  it('are fixed, from 0.1 ms on', () => {
    expect([0, 0.05, 0.1, NaN, -1].map(bucketOf)).toEqual([0, 0, 0, 0, 0]);
    expect(bucketOf(0.2)).toBe(3);
    expect(bucketOf(1e9)).toBe(BUCKETS - 1);
  });

  it('have no percentile without calls', () => {
    expect(percentile([], 0.5)).toBeUndefined();
  });
});

describe('a recent count', () => {
  it('forgets after two and a half to five minutes', () => {
    const count = new RecentCount();
    count.add(1000);
    count.add(149_000);
    expect(count.read(299_999)).toBe(2);
    expect(count.read(300_000)).toBe(0);
    count.add(300_000);
    count.add(300_001, -1);
    count.add(300_002, -1);
    expect(count.read(300_003)).toBe(0);
  });

  it('starts again when it is cleared', () => {
    const count = new RecentCount();
    count.add(1000);
    count.add(200_000);
    count.clear();
    expect(count.read(200_001)).toBe(0);
  });
});
