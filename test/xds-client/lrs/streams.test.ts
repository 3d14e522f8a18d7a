import { StatusCode } from '../../../src/util/status-code';
import { LrsHarness, zone } from './harness';

const TEN_SECONDS = 10_000;

describe('the stream of load reports', () => {
  let lrs: LrsHarness;
  beforeEach(() => {
    lrs = new LrsHarness();
  });
  afterEach(() => {
    expect(lrs.logger.errors.filter((text) => text.startsWith('unexpected'))).toEqual([]);
  });

  function expectNothingLeft(): void {
    expect(lrs.clock.pendingTimers).toBe(0);
    expect(lrs.network.openConnections).toBe(0);
  }

  describe('fails and is opened anew, later each time, when the server', () => {
    it.each([
      ['sends no interval', undefined, 'sent no load_reporting_interval'],
      ['sends an interval of zero', 0, 'sent a load_reporting_interval of 0'],
      [
        'sends a negative interval',
        -1000,
        'sent a bad interval: load_reporting_interval.seconds: must be from 0 to 315576000000, not -1',
      ],
    ])('%s', (_what, intervalMs, reason) => {
      lrs.acquire();
      lrs.order({ intervalMs });
      expect(lrs.stream.isOpen).toBe(false);
      expect(lrs.logger.errors).toEqual([
        `Load reports: management server lrs.test:1 (node "node-1") ${reason}; next attempt in 1.0 s`,
      ]);
      lrs.clock.advance(999);
      expect(lrs.streamCount).toBe(1);
      lrs.clock.advance(1);
      expect(lrs.streamCount).toBe(2);
      lrs.order({ intervalMs });
      lrs.clock.advance(1599);
      expect(lrs.streamCount).toBe(2);
      lrs.clock.advance(1);
      expect(lrs.streamCount).toBe(3);
      expect(lrs.logger.errors).toHaveLength(1);
    });

    it('sends what is no answer', () => {
      lrs.acquire();
      lrs.stream.respondBytes(new Uint8Array([0xff]));
      expect(lrs.stream.isOpen).toBe(false);
      lrs.clock.advance(1000);
      expect(lrs.streamCount).toBe(2);
    });

    it('cannot be used at all', () => {
      lrs.server.refusal = 'no such credentials';
      const hold = lrs.acquire();
      expect(lrs.logger.errors[0]).toContain('cannot be used: no such credentials');
      lrs.server.refusal = undefined;
      lrs.clock.advance(1000);
      expect(lrs.streamCount).toBe(1);
      hold.release();
      expectNothingLeft();
    });

    it('takes no load reports, and says what to do', () => {
      lrs.acquire();
      lrs.stream.end(StatusCode.UNIMPLEMENTED, 'unknown service');
      expect(lrs.logger.errors[0]).toContain(
        'takes no load reports, though it sets lrs_server in its clusters: unknown service',
      );
      lrs.clock.advance(1000);
      expect(lrs.streamCount).toBe(2);
    });
  });

  it('is opened anew at once after one that was of use, but at most once a second', () => {
    lrs.acquire();
    lrs.order({ intervalMs: TEN_SECONDS });
    lrs.stream.end();
    lrs.clock.advance(999);
    expect(lrs.streamCount).toBe(1);
    lrs.clock.advance(1);
    lrs.order({ intervalMs: TEN_SECONDS });
    lrs.clock.advance(5000);
    lrs.stream.end();
    lrs.clock.advance(0);
    expect(lrs.streamCount).toBe(3);
    expect(lrs.logger.errors).toEqual([]);
  });

  it('is opened after a pause while another process displaces it', () => {
    lrs.acquire();
    const displace = () => {
      lrs.order({ intervalMs: TEN_SECONDS });
      lrs.stream.end(StatusCode.OK, '', 1);
    };
    displace();
    lrs.clock.advance(1000);
    expect(lrs.streamCount).toBe(2);
    displace();
    lrs.clock.advance(6399);
    expect(lrs.streamCount).toBe(2);
    lrs.clock.advance(3201);
    expect(lrs.streamCount).toBe(3);
    expect(lrs.logger.errors).toEqual([]);
  });

  it('sends the node again, and waits for a response', () => {
    const { load } = lrs.acquire();
    lrs.order({ intervalMs: TEN_SECONDS });
    lrs.clock.advance(TEN_SECONDS);
    lrs.stream.end();
    lrs.clock.advance(0);
    load.countDrop(undefined);
    lrs.clock.advance(2 * TEN_SECONDS);
    expect(lrs.stream.messages).toHaveLength(1);
    lrs.order({ intervalMs: 1000 });
    lrs.clock.advance(1000);
    expect(lrs.report).toEqual(['c over 21000 ms, dropped 1']);
  });

  it('brings what could not be sent on the one before, with the time it took', () => {
    const { load, metrics } = lrs.acquire({ metrics: ['named_metrics.*'] });
    expect(metrics).toBeDefined();
    const locality = load.createLocality(zone('a'));
    lrs.order({ intervalMs: TEN_SECONDS });
    locality.start();
    locality.start();
    locality.end(true);
    load.countDrop('lb');
    load.countDrop(undefined);
    // The report is given to the connection, which is broken by then.
    lrs.server.isReachable = false;
    lrs.clock.advance(TEN_SECONDS);
    expect(lrs.reports).toHaveLength(1);
    lrs.server.isReachable = true;
    lrs.stream.end();
    lrs.clock.advance(0);
    lrs.order({ intervalMs: TEN_SECONDS });
    locality.start();
    locality.end(false);
    load.countDrop('lb');
    lrs.clock.advance(TEN_SECONDS);
    expect(lrs.reports).toEqual([
      ['c over 20000 ms, dropped 3 (lb 2)', '  a: 3 issued, 1 ok, 1 failed, 1 running'],
    ]);
  });

  it('does not repeat what was sent on the one before', () => {
    const { load } = lrs.acquire();
    lrs.order({ intervalMs: TEN_SECONDS });
    load.countDrop(undefined);
    lrs.clock.advance(TEN_SECONDS);
    lrs.stream.end();
    lrs.clock.advance(0);
    lrs.order({ intervalMs: TEN_SECONDS });
    lrs.clock.advance(TEN_SECONDS);
    expect(lrs.reports).toEqual([[]]);
  });

  describe('when there is nothing to report any more', () => {
    it('ends with a last report, once the server has taken it', () => {
      const hold = lrs.acquire();
      lrs.order({ intervalMs: TEN_SECONDS });
      lrs.clock.advance(3000);
      hold.load.countDrop(undefined);
      hold.release();
      expect(lrs.report).toEqual(['c over 3000 ms, dropped 1']);
      expect(lrs.stream.isHalfClosed).toBe(false);
      lrs.clock.flush();
      expect(lrs.stream.isHalfClosed).toBe(true);
      expect(lrs.network.openConnections).toBe(1);
      lrs.stream.end(0, '');
      expectNothingLeft();
    });

    it('ends when the server does not, a second later', () => {
      const hold = lrs.acquire();
      lrs.order({ intervalMs: TEN_SECONDS });
      hold.release();
      lrs.clock.advance(999);
      expect(lrs.stream.isOpen).toBe(true);
      lrs.clock.advance(1);
      expectNothingLeft();
    });

    it('keeps the process alive until the last report is sent, for a second at most', () => {
      const hold = lrs.acquire();
      lrs.order({ intervalMs: TEN_SECONDS });
      const setTimer = jest.spyOn(lrs.clock, 'setTimer');
      hold.release();
      expect(setTimer.mock.calls).toEqual([[expect.any(Function), 1000, true]]);
    });

    it('sends the last report after the one that is on its way', () => {
      const hold = lrs.acquire();
      lrs.order({ intervalMs: TEN_SECONDS });
      lrs.server.isReachable = false;
      hold.load.countDrop(undefined);
      lrs.clock.advance(TEN_SECONDS);
      hold.load.countDrop('late');
      hold.release();
      expect(lrs.reports).toHaveLength(1);
      lrs.server.isReachable = true;
      lrs.stream.confirmSent();
      expect(lrs.report).toEqual(['c over 0 ms, dropped 1 (late 1)']);
    });

    it('ends at once if there was no LRS response yet', () => {
      lrs.acquire().release();
      expect(lrs.stream.isOpen).toBe(false);
      expectNothingLeft();
    });

    it('ends while it waits for another attempt', () => {
      const hold = lrs.acquire();
      lrs.stream.end();
      hold.load.countDrop(undefined);
      hold.release();
      expectNothingLeft();
      expect(lrs.streamCount).toBe(1);
    });

    it('waits for the calls that outlive their channel', () => {
      const hold = lrs.acquire();
      const locality = hold.load.createLocality(zone('a'));
      lrs.order({ intervalMs: TEN_SECONDS });
      locality.start();
      locality.start();
      hold.release();
      lrs.clock.advance(TEN_SECONDS);
      locality.end(true);
      expect(lrs.stream.isHalfClosed).toBe(false);
      lrs.clock.advance(1000);
      locality.end(false);
      lrs.clock.flush();
      expect(lrs.reports).toEqual([
        ['c over 10000 ms, dropped 0', '  a: 2 issued, 0 ok, 0 failed, 2 running'],
        ['c over 1000 ms, dropped 0', '  a: 0 issued, 1 ok, 1 failed, 0 running'],
      ]);
      lrs.stream.end(0, '');
      expectNothingLeft();
    });

    it('continues if a cluster is used while the last report is in flight', () => {
      const hold = lrs.acquire();
      lrs.order({ intervalMs: TEN_SECONDS });
      hold.load.countDrop(undefined);
      hold.release();
      const again = lrs.acquire();
      lrs.clock.flush();
      expect(lrs.stream.isHalfClosed).toBe(false);
      again.load.countDrop(undefined);
      lrs.clock.advance(TEN_SECONDS);
      expect(lrs.reports).toEqual([['c over 0 ms, dropped 1'], ['c over 10000 ms, dropped 1']]);
    });

    it('is followed by another one if a cluster is used after that', () => {
      const hold = lrs.acquire();
      lrs.order({ intervalMs: TEN_SECONDS });
      hold.release();
      lrs.clock.flush();
      expect(lrs.stream.isHalfClosed).toBe(true);
      lrs.acquire().load.countDrop(undefined);
      lrs.stream.end(0, '');
      lrs.clock.advance(1000);
      expect(lrs.streamCount).toBe(2);
      lrs.order({ intervalMs: TEN_SECONDS });
      lrs.clock.advance(TEN_SECONDS);
      expect(lrs.report).toEqual(['c over 11000 ms, dropped 1']);
    });

    it('is followed by another one, too, if the server does not end it', () => {
      const hold = lrs.acquire();
      lrs.order({ intervalMs: TEN_SECONDS });
      hold.release();
      lrs.clock.flush();
      lrs.acquire();
      lrs.clock.advance(1000);
      expect(lrs.streamCount).toBe(2);
    });
  });

  it('brings the rest of a cluster that is used no more, while others are', () => {
    lrs.acquire({ cluster: 'stays' });
    const gone = lrs.acquire({ cluster: 'gone' });
    lrs.order({ intervalMs: TEN_SECONDS });
    gone.load.countDrop(undefined);
    gone.release();
    gone.release();
    lrs.clock.advance(TEN_SECONDS);
    lrs.clock.advance(TEN_SECONDS);
    expect(lrs.reports).toEqual([['gone over 10000 ms, dropped 1'], []]);
  });

  it('adds the rest of a cluster to what is counted once it is used again', () => {
    lrs.acquire({ cluster: 'stays' });
    const first = lrs.acquire();
    lrs.order({ intervalMs: TEN_SECONDS });
    first.load.countDrop(undefined);
    first.release();
    const second = lrs.acquire();
    second.load.countDrop(undefined);
    expect(second.load).toBe(first.load);
    lrs.clock.advance(TEN_SECONDS);
    expect(lrs.report).toEqual(['c over 10000 ms, dropped 2']);
  });

  it('keeps nothing of clusters that were released, requested or not', () => {
    lrs.acquire({ cluster: 'stays' });
    lrs.order({ clusters: ['stays', 'c0'], intervalMs: TEN_SECONDS });
    for (let i = 0; i < 100; i++) {
      const { load, release } = lrs.acquire({ cluster: `c${i}` });
      load.countDrop(undefined);
      release();
    }
    lrs.clock.advance(TEN_SECONDS);
    lrs.order({ intervalMs: TEN_SECONDS });
    lrs.clock.advance(TEN_SECONDS);
    expect(lrs.reports).toEqual([['c0 over 10000 ms, dropped 1'], []]);
  });

  it('counts what is picked by a picker that is out of date', () => {
    lrs.acquire({ cluster: 'stays' });
    const old = lrs.acquire();
    const locality = old.load.createLocality(zone('a'));
    lrs.order({ intervalMs: TEN_SECONDS });
    old.release();
    lrs.clock.advance(TEN_SECONDS);
    // By now nobody knows of the cluster; and then it is known by another count.
    const fresh = lrs.acquire().load.createLocality(zone('a'));
    fresh.start();
    locality.start();
    lrs.clock.advance(TEN_SECONDS);
    expect(lrs.report).toEqual([
      'c over 10000 ms, dropped 0',
      '  a: 1 issued, 0 ok, 0 failed, 1 running',
      'c over 10000 ms, dropped 0',
      '  a: 1 issued, 0 ok, 0 failed, 1 running',
    ]);
    fresh.end(true);
    locality.end(true);
    lrs.clock.advance(TEN_SECONDS);
    lrs.clock.advance(TEN_SECONDS);
    expect(lrs.report).toEqual([]);
  });
});
