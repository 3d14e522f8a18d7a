import { OrcaLoadReport } from '../../../src/wire/generated/xds/data/orca/v3/orca_load_report';
import { ConnectivityState, Status } from '../../../src/grpc-js';
import type { Subchannel } from '../../../src/grpc-js';
import { OobReports } from '../../../src/lb/orca/oob-reports';
import type { OobStreamListener } from '../../../src/lb/orca/oob-stream';
import { createHandle } from '../../../src/util/handle';
import { FakeClock } from '../../support/fake-clock';
import { FakeSubchannel } from '../../support/lb-subchannel';

interface OpenedStream {
  readonly subchannel: Subchannel;
  readonly intervalMs: number;
  readonly listener: OobStreamListener;
  closed: boolean;
}

/** Reports with the streams played by the test. */
class Subject {
  readonly clock = new FakeClock();
  readonly errors: string[] = [];
  readonly traces: string[] = [];
  /** Every stream there ever was. */
  readonly streams: OpenedStream[] = [];
  readonly reports = new OobReports({
    clock: this.clock,
    random: () => 0.5,
    logger: {
      trace: (tracer, text) => this.traces.push(`${tracer}: ${text()}`),
      info() {},
      error: (text) => this.errors.push(text()),
    },
    openStream: (subchannel, intervalMs, listener) => {
      const stream = { subchannel, intervalMs, listener, closed: false };
      this.streams.push(stream);
      return createHandle(() => {
        stream.closed = true;
      });
    },
  });
  readonly received: string[] = [];

  subscribe(name: string, intervalMs = 10_000, subchannel: Subchannel = connection) {
    return this.reports.subscribe(subchannel, intervalMs, ({ rpsFractional }) =>
      this.received.push(`${name} ${rpsFractional}`),
    );
  }

  get newest(): OpenedStream {
    const newest = this.streams.at(-1);
    if (newest === undefined) throw new Error('No stream was opened');
    return newest;
  }

  /** Lets the backend report. */
  report(rpsFractional: number): void {
    this.newest.listener.onReport(OrcaLoadReport.create({ rpsFractional }));
  }

  /** Lets the stream fail. */
  fail(code: Status = Status.UNAVAILABLE): void {
    this.newest.listener.onEnd({ code, details: 'gone' });
  }

  /** Intervals of the streams that are open. */
  get open(): number[] {
    return this.streams.filter(({ closed }) => !closed).map(({ intervalMs }) => intervalMs);
  }
}

let connection: FakeSubchannel;

beforeEach(() => {
  connection = new FakeSubchannel(1, { host: '10.0.0.1', port: 80 }, {}, () => {});
  connection.connect();
});

describe('OobReports', () => {
  it('opens one stream for all subscribers, each of which receives every report', () => {
    const subject = new Subject();
    subject.subscribe('a');
    subject.subscribe('b');
    expect(subject.open).toEqual([10_000]);
    subject.report(5);
    expect(subject.received).toEqual(['a 5', 'b 5']);
  });

  it('opens a stream on each connection', () => {
    const subject = new Subject();
    const other = new FakeSubchannel(2, { host: '10.0.0.2', port: 80 }, {}, () => {});
    subject.subscribe('a');
    subject.subscribe('b', 5000, other);
    expect(subject.open).toEqual([10_000, 5000]);
    expect(subject.newest.subchannel).toBe(other);
    subject.report(5);
    expect(subject.received).toEqual(['b 5']);
  });

  it('closes the stream with the last subscriber', () => {
    const subject = new Subject();
    const [a, b] = [subject.subscribe('a'), subject.subscribe('b')];
    a.release();
    a.release();
    subject.report(5);
    expect(subject.received).toEqual(['b 5']);
    b.release();
    expect(subject.open).toEqual([]);
    expect(subject.reports.size).toBe(0);
  });

  it('requests the shortest interval, again only if that changes', () => {
    const subject = new Subject();
    subject.subscribe('a', 10_000);
    const fast = subject.subscribe('b', 5000);
    const equal = subject.subscribe('c', 5000);
    expect(subject.streams.length).toBe(2);
    expect(subject.open).toEqual([5000]);
    fast.release();
    expect(subject.streams.length).toBe(2);
    equal.release();
    expect(subject.open).toEqual([10_000]);
  });

  it('allows a subscriber to unsubscribe when it receives a report', () => {
    const subject = new Subject();
    const handle = subject.reports.subscribe(connection, 1000, () => handle.release());
    subject.subscribe('b');
    subject.report(5);
    subject.report(6);
    expect(subject.received).toEqual(['b 5', 'b 6']);
  });

  it('tries again after a backoff that grows', () => {
    const subject = new Subject();
    subject.subscribe('a');
    for (const delayMs of [1000, 1600, 2560]) {
      const before = subject.streams.length;
      subject.fail();
      subject.clock.advance(delayMs - 1);
      expect(subject.streams.length).toBe(before);
      subject.clock.advance(1);
      expect(subject.streams.length).toBe(before + 1);
    }
    expect(subject.traces[0]).toBe(
      'orca_client: 10.0.0.1:80: stream ended with 14 gone; next in 1000 ms',
    );
    expect(subject.errors).toEqual([]);
  });

  it('logs a failure once, and again after a report', () => {
    const subject = new Subject();
    const failure = 'Backend 10.0.0.1:80 ended the stream of its load reports with INTERNAL: gone';
    subject.subscribe('a');
    for (let i = 0; i < 2; i++) {
      subject.fail(Status.INTERNAL);
      subject.clock.advance(2000);
    }
    expect(subject.errors).toEqual([failure]);
    subject.report(5);
    subject.fail(Status.INTERNAL);
    expect(subject.errors).toEqual([failure, failure]);
  });

  it('tries again at once when a stream was of use, but not more than once a second', () => {
    const subject = new Subject();
    subject.subscribe('a');
    subject.fail();
    subject.clock.advance(1000);
    subject.report(5);
    subject.fail(Status.OK);
    subject.clock.advance(999);
    expect(subject.streams.length).toBe(2);
    subject.clock.advance(1);
    expect(subject.streams.length).toBe(3);
    subject.report(5);
    subject.clock.advance(60_000);
    subject.fail(Status.OK);
    subject.clock.advance(0);
    expect(subject.streams.length).toBe(4);
  });

  it('resets the backoff with the last subscriber', () => {
    const subject = new Subject();
    const handle = subject.subscribe('a');
    subject.fail();
    handle.release();
    expect(subject.clock.pendingTimers).toBe(0);
    subject.subscribe('a');
    expect(subject.streams.length).toBe(2);
  });

  it('requests the interval that is current when the backoff ends', () => {
    const subject = new Subject();
    subject.subscribe('a', 10_000);
    subject.fail();
    subject.subscribe('b', 3000);
    expect(subject.streams.length).toBe(1);
    subject.clock.advance(1000);
    expect(subject.newest.intervalMs).toBe(3000);
  });

  describe('from a backend that offers none', () => {
    it('does not open another stream on the same connection, and logs that once', () => {
      const subject = new Subject();
      const handle = subject.subscribe('a');
      subject.fail(Status.UNIMPLEMENTED);
      subject.clock.advance(3_600_000);
      subject.subscribe('b', 5000).release();
      handle.release();
      subject.subscribe('c').release();
      expect(subject.streams.length).toBe(1);
      expect(subject.errors).toEqual([
        'Backend 10.0.0.1:80 does not report its load out of band, so its load is unknown: gone',
      ]);
    });

    it('opens a stream on the next connection', () => {
      const subject = new Subject();
      const handle = subject.subscribe('a');
      subject.fail(Status.UNIMPLEMENTED);
      connection.disconnect();
      handle.release();
      expect(subject.reports.size).toBe(0);
      expect(connection.listenerCount).toBe(0);
      connection.connect();
      subject.subscribe('a');
      expect(subject.streams.length).toBe(2);
    });

    it('is removed when the connection is lost after the last subscriber was released', () => {
      const subject = new Subject();
      const handle = subject.subscribe('a');
      subject.fail(Status.UNIMPLEMENTED);
      handle.release();
      connection.setState(ConnectivityState.READY);
      expect(subject.reports.size).toBe(1);
      connection.disconnect();
      expect(subject.reports.size).toBe(0);
      expect(connection.listenerCount).toBe(0);
    });
  });
});
