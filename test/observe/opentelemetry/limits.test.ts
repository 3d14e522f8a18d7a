import { context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { withCallLabel } from '../../../src/observe/opentelemetry';
import { MAX_SERIES } from '../../../src/observe/opentelemetry/flat-backend';
import { MAX_METHODS, MAX_CALL_KINDS } from '../../../src/observe/opentelemetry/metrics-plugin';
import { CallStats } from '../../../src/observe/stats/call-stats';
import { LbInstruments } from '../../../src/observe/stats/instruments';
import { processStats } from '../../../src/observe/stats/stats-registry';
import { MetricsReader, WAYS } from '../../support/metrics-reader';

const TARGET = 'xds:///shop';
const clock = { monotonicMs: () => 0 };

/** Makes one call of each method, through the state that real calls have. */
function callAll(methods: readonly string[]): void {
  const stats = processStats.forChannel(TARGET);
  for (const method of methods) {
    const tracer = stats?.startCall(method);
    if (tracer === undefined) throw new Error('the call is not observed');
    const call = new CallStats(tracer, clock);
    call.startPick({ get: () => [], set() {} });
    call.end(0, '');
  }
}

describe.each(WAYS)('the number of series with a %s', (way) => {
  let reader: MetricsReader;
  afterEach(() => reader.stop());

  it('does not grow with the methods that a proxy calls', async () => {
    reader = new MetricsReader(way);
    callAll(Array.from({ length: 3 * MAX_METHODS }, (_, i) => `/made.Up/Method${i}`));
    const series = await reader.series('grpc.client.attempt.started');
    expect(series.length).toBe(MAX_METHODS + 1);
    const other = series.find(({ labels }) => labels['grpc.method'] === 'other');
    expect(other?.value).toBe(2 * MAX_METHODS);
  });

  it('does not grow with statuses that gRPC does not define', async () => {
    reader = new MetricsReader(way);
    const stats = processStats.forChannel(TARGET);
    for (const code of [-1, 17, 1000, 1.5]) {
      const tracer = stats?.startCall('/made.Up/Method');
      if (tracer === undefined) throw new Error('the call is not observed');
      new CallStats(tracer, clock).end(code, '');
    }
    const [series, ...others] = await reader.series('grpc.client.call.duration');
    expect(others).toEqual([]);
    expect(series?.labels['grpc.status']).toBe('UNKNOWN');
    expect(series?.value).toBe(4);
  });
});

describe('the number of series of a metricProducer', () => {
  const reader = new MetricsReader('MetricProducer', {
    enableMetrics: ['grpc.lb.wrr.rr_fallback'],
    optionalLabels: ['grpc.lb.locality'],
  });
  afterAll(() => reader.stop());

  it('is bounded: what is beyond counts in one of its own, as in the SDK', async () => {
    const stats = processStats.forChannel(TARGET);
    for (let i = 0; i < 2 * MAX_SERIES; i++) {
      const labels = { 'grpc.lb.locality': `made up ${i}` };
      stats?.series(LbInstruments.WRR_RR_FALLBACK, labels)?.add(1);
    }
    const series = await reader.series('grpc.lb.wrr.rr_fallback');
    expect(series.length).toBe(MAX_SERIES);
    const overflow = series.find(({ labels }) => labels['otel.metric.overflow'] === true);
    expect(overflow?.value).toBe(MAX_SERIES + 1);
  });
});

describe('what a channel keeps of its calls', () => {
  const reader = new MetricsReader('MetricProducer', {
    optionalLabels: ['grpc.client.call.custom'],
  });
  beforeAll(() => context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
  afterAll(async () => {
    context.disable();
    await reader.stop();
  });

  it('does not grow with the labels that an application makes up', async () => {
    const stats = processStats.forChannel(TARGET);
    const tracers = new Set<unknown>(
      Array.from({ length: 2 * MAX_CALL_KINDS }, (_, i) =>
        context.with(withCallLabel(context.active(), `made up ${i}`), () => {
          const contained = stats?.startCall('/a.B/C');
          // Each call has an object of its own around what is kept.
          const kept: unknown = contained && Reflect.get(contained, 'tracers');
          return Array.isArray(kept) ? kept[0] : undefined;
        }),
      ),
    );
    // All beyond the bound share one.
    expect(tracers.size).toBe(MAX_CALL_KINDS + 1);
    expect(tracers.has(undefined)).toBe(false);
  });
});
