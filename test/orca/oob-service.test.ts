import { EventEmitter } from 'node:events';
import { Server, status } from '@grpc/grpc-js';
import { OrcaLoadReportRequest } from '../../src/wire/generated/xds/service/orca/v3/orca';
import { OrcaReporter } from '../../src/orca';
import { OobService } from '../../src/orca/oob-service';
import { FakeClock } from '../support/fake-clock';
import { XdsError } from '../../src/util/xds-error';

/** One stream of a client, which reads everything. */
class FakeCall extends EventEmitter {
  readonly errors: unknown[] = [];
  written = 0;
  readonly writableNeedDrain = false;

  constructor(
    readonly request: OrcaLoadReportRequest,
    readonly cancelled: boolean,
  ) {
    super();
    this.on('error', (error) => this.errors.push(error));
  }

  write(): void {
    this.written++;
  }

  end(): void {}
}

type Methods = Record<string, { requestDeserialize: (bytes: Buffer) => OrcaLoadReportRequest }>;
type Handlers = Record<string, (call: unknown) => void>;

function start() {
  const clock = new FakeClock();
  const service = new OobService({ clock, minIntervalMs: 1000, report: () => Buffer.of(1) });
  const server = new Server();
  const added = jest.spyOn(server, 'addService');
  service.addTo(server);
  const [methods, handlers] = added.mock.calls[0] as unknown as [Methods, Handlers];
  const decode = methods['StreamCoreMetrics']?.requestDeserialize;
  const open = (request: Partial<OrcaLoadReportRequest> = {}, cancelled = false) => {
    const call = new FakeCall(OrcaLoadReportRequest.create(request), cancelled);
    handlers['StreamCoreMetrics']?.(call);
    return call;
  };
  return { clock, service, open, decode };
}

describe('the out-of-band reporting service', () => {
  it('refuses more than 10,000 streams until one has ended', () => {
    const { open } = start();
    const calls = Array.from({ length: 10_000 }, () => open());
    expect(calls.filter(({ written }) => written === 1)).toHaveLength(10_000);
    const refused = open();
    expect(refused.errors).toEqual([
      {
        code: status.RESOURCE_EXHAUSTED,
        details: 'the server has 10000 streams of load reports',
      },
    ]);
    expect(refused.written).toBe(0);
    calls[0]?.emit('cancelled');
    expect(open().written).toBe(1);
  });

  it('writes 2,000 reports a second at most, whatever interval its clients request', () => {
    const { open, clock } = start();
    const calls = Array.from({ length: 4000 }, () => open());
    for (let seconds = 0; seconds < 10; seconds++) clock.advance(1000);
    const reports = calls.reduce((sum, { written }) => sum + written, 0) - calls.length;
    expect(reports).toBeGreaterThan(10_000);
    expect(reports).toBeLessThanOrEqual(2000 * 10 + calls.length);
    expect(clock.pendingTimers).toBe(4000);
  });

  it.each([
    [{ seconds: -(2n ** 63n), nanos: 0 }],
    [{ seconds: 0n, nanos: -(2 ** 31) }],
    [{ seconds: 0n, nanos: 1 }],
  ])('sends no more often than the minimum interval for %p', (reportInterval) => {
    const { open, clock } = start();
    const call = open({ reportInterval });
    clock.advance(999);
    expect(call.written).toBe(1);
    clock.advance(1);
    expect(call.written).toBe(2);
  });

  it('sends a report of a huge interval once, not at once again and again', () => {
    const { open, clock } = start();
    const call = open({ reportInterval: { seconds: 2n ** 62n, nanos: 0 } });
    clock.advance(1_000_000);
    expect(call.written).toBe(1);
  });

  it('keeps nothing of a call that was cancelled before', () => {
    const { clock, open } = start();
    const call = open({}, true);
    expect([call.written, clock.pendingTimers]).toEqual([0, 0]);
  });

  it('does not read a request of more than 10,000 fields', () => {
    const { decode } = start();
    const encode = (names: number) =>
      Buffer.from(
        OrcaLoadReportRequest.encode(
          OrcaLoadReportRequest.create({ requestCostNames: Array<string>(names).fill('') }),
        ).finish(),
      );
    expect(decode?.(encode(9999))).toBeDefined();
    expect(() => decode?.(encode(2_000_000))).toThrow('10000');
  });
});

it.each([NaN, 0, -1])('an OrcaReporter refuses a minimum interval of %d ms', (value) => {
  expect(() => new OrcaReporter({ minReportIntervalMs: value })).toThrow(
    new XdsError(
      'XDS_OPTION_INVALID',
      `minReportIntervalMs of new OrcaReporter() must be a positive number of milliseconds, not ${value}`,
    ),
  );
});
