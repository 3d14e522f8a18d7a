import {
  type ConnectionAttempt,
  ConnectionAttempts,
} from '../../../src/lb/connections/connection-attempts';
import { LbBatch } from '../../../src/lb/tree/lb-batch';
import { FakeClock } from '../../support/fake-clock';

const EMFILE = 'Last error: Error: connect EMFILE 10.0.0.1:80 - Local (undefined:undefined)';
const REFUSED = 'Last error: Error: connect ECONNREFUSED 10.0.0.1:80';
const EXHAUSTED =
  'xds: connections cannot be opened: too many open files in this process (EMFILE): 0 connections to endpoints are open, ' +
  '4 more are pending; raise the limit of open files (ulimit -n), or use a policy that connects to fewer endpoints ' +
  '(random_subsetting, ring_hash, pick_first)';
const RECOVERED = 'xds: recovered: connections can be opened again (EMFILE)';

/** Attempts by name; the letters of a name are those of its policy. `workMs` is what starting one takes. */
function setUp({ max = 2, workMs = 0, timeSlices = { isBusy: false } } = {}) {
  const clock = new FakeClock();
  const log: string[] = [];
  const write = (text: () => string) => log.push(text());
  const attempts = new ConnectionAttempts({
    clock,
    random: () => 0.5,
    logger: { trace() {}, info: write, error: write },
    maxConnectionAttempts: max,
    timeSlices,
    closeUnused: () => log.push('closed what is unused'),
  });
  const batch = new LbBatch((error) => log.push(String(error)));
  const hosts = new Map<string, ConnectionAttempt['host']>();
  const started: string[] = [];
  const byName = new Map<string, ConnectionAttempt>();
  const attempt = (name: string): ConnectionAttempt => {
    const policy = name.replace(/\d/g, '');
    const host = hosts.get(policy) ?? { environment: { batch } };
    hosts.set(policy, host);
    const known = byName.get(name);
    const created = known ?? {
      host,
      start: () => {
        started.push(name);
        if (workMs > 0)
          jest.spyOn(clock, 'monotonicMs').mockReturnValue(clock.monotonicMs() + workMs);
      },
    };
    byName.set(name, created);
    return created;
  };
  const request = (...names: string[]) => {
    for (const name of names) attempts.request(attempt(name), false);
  };
  const end = (name: string, error: string | null = null) => attempts.ended(attempt(name), error);
  return { clock, log, attempts, attempt, request, end, started };
}

describe('ConnectionAttempts', () => {
  it('starts as many as may be in flight, and the next when one has ended', () => {
    const { clock, request, end, started } = setUp();
    request('a1', 'a2', 'a3', 'a4');
    expect(started).toEqual(['a1', 'a2']);
    end('a2');
    clock.advance(1);
    expect(started).toEqual(['a1', 'a2', 'a3']);
    end('a1', REFUSED);
    end('a3');
    clock.advance(1);
    expect(started).toEqual(['a1', 'a2', 'a3', 'a4']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('starts the next instead of one that is deleted', () => {
    const { clock, attempts, attempt, request, started } = setUp();
    request('a1', 'a2', 'a3', 'a4');
    attempts.delete(attempt('a1'));
    attempts.delete(attempt('a3'));
    clock.advance(1);
    expect(started).toEqual(['a1', 'a2', 'a4']);
    attempts.delete(attempt('a4'));
    expect(clock.pendingTimers).toBe(0);
  });

  it('does not let attempts that take longer than a second keep others waiting', () => {
    const { clock, request, started } = setUp();
    request('a1', 'a2', 'a3');
    clock.advance(999);
    expect(started).toEqual(['a1', 'a2']);
    clock.advance(1);
    expect(started).toEqual(['a1', 'a2', 'a3']);
  });

  it('starts one that a call waits for before all others', () => {
    const { clock, attempts, attempt, request, end, started } = setUp({ max: 1 });
    request('a1', 'a2', 'a3');
    attempts.request(attempt('b1'), true);
    attempts.request(attempt('a3'), true);
    for (const name of ['a1', 'b1', 'a3']) {
      end(name);
      clock.advance(1);
    }
    expect(started).toEqual(['a1', 'b1', 'a3', 'a2']);
  });

  it('starts the attempts of policies in turn', () => {
    const { clock, request, end, started } = setUp({ max: 1 });
    request('a1', 'a2', 'a3', 'b1');
    for (const name of ['a1', 'a2', 'b1']) {
      end(name);
      clock.advance(1);
    }
    expect(started).toEqual(['a1', 'a2', 'b1', 'a3']);
  });

  it('makes a break after four milliseconds of work', () => {
    const { clock, request, started } = setUp({ max: 100, workMs: 1 });
    request('a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7', 'a8', 'a9');
    expect(started.length).toBe(4);
    clock.advance(1);
    expect(started.length).toBe(8);
    clock.advance(1);
    expect(started.length).toBe(9);
  });

  describe('without file descriptors', () => {
    function exhaust() {
      const world = setUp();
      world.request('a1', 'a2', 'a3', 'a4');
      world.end('a1', EMFILE);
      world.request('a1');
      world.end('a2', EMFILE);
      world.request('a2');
      return world;
    }

    it('starts nothing, and logs one line', () => {
      const { clock, log, attempts, started } = exhaust();
      clock.advance(999);
      expect(started).toEqual(['a1', 'a2']);
      expect(log).toEqual([EXHAUSTED]);
      expect(attempts.shortageText).toBe(
        'connections cannot be opened: too many open files in this process (EMFILE)',
      );
    });

    it('starts one attempt after a delay, which grows while it fails', () => {
      const { clock, log, request, end, started } = exhaust();
      clock.advance(1000);
      expect(started).toEqual(['a1', 'a2', 'a3']);
      end('a3', EMFILE);
      request('a3');
      clock.advance(1599);
      expect(started.length).toBe(3);
      clock.advance(1);
      expect(started).toEqual(['a1', 'a2', 'a3', 'a4']);
      expect(log.length).toBe(1);
    });

    it('starts one attempt soon after a connection was closed', () => {
      const { clock, attempts, started } = exhaust();
      attempts.closed();
      clock.advance(199);
      expect(started.length).toBe(2);
      clock.advance(1);
      expect(started).toEqual(['a1', 'a2', 'a3']);
    });

    it('closes connections that were released before the next attempt, for as long as there are more of them', () => {
      const { clock, log, attempts, started } = exhaust();
      for (let i = 0; i < 5; i++) {
        attempts.closed();
        clock.advance(100);
        expect(log.filter((line) => line === 'closed what is unused')).toHaveLength(i + 1);
      }
      expect(started.length).toBe(2);
      clock.advance(100);
      expect(started).toEqual(['a1', 'a2', 'a3']);
    });

    it('starts the backoff again when connections were released', () => {
      const { clock, attempts, end, started } = exhaust();
      for (const [name, delayMs] of [
        ['a3', 1000],
        ['a4', 1600],
      ] as const) {
        clock.advance(delayMs);
        expect(started.at(-1)).toBe(name);
        end(name, 'connect EMFILE');
      }
      attempts.closed();
      clock.advance(200);
      const { length } = started;
      end(started.at(-1) ?? '', 'connect EMFILE');
      clock.advance(1600);
      expect(started.length).toBe(length + 1);
    });

    it('continues while attempts succeed, and logs that it has recovered', () => {
      const { clock, log, attempts, end, started } = exhaust();
      clock.advance(1000);
      end('a3');
      expect(log).toEqual([EXHAUSTED, RECOVERED]);
      expect(attempts.shortageText).toBeUndefined();
      clock.advance(1);
      expect(started).toEqual(['a1', 'a2', 'a3', 'a4', 'a1']);
    });

    it('takes an attempt that is requested after the delay as the one to start', () => {
      const { clock, log, attempts, attempt, request, end, started } = exhaust();
      for (const name of ['a1', 'a2', 'a3', 'a4']) attempts.delete(attempt(name));
      expect(clock.pendingTimers).toBe(0);
      clock.advance(5000);
      request('b1');
      expect(started).toEqual(['a1', 'a2', 'b1']);
      end('b1', REFUSED);
      expect(log).toEqual([EXHAUSTED, RECOVERED]);
    });
  });

  it('starts one in a turn while configuration is applied, but all that calls wait for', () => {
    const timeSlices = { isBusy: true };
    const scene = setUp({ max: 9, workMs: 1, timeSlices });
    const { clock, attempts, attempt, request, started } = scene;
    request('a1', 'a2', 'a3', 'a4', 'a5', 'a6');
    expect(started).toEqual(['a1']);
    attempts.request(attempt('b1'), true);
    expect(started).toEqual(['a1', 'b1']);
    clock.advance(1);
    expect(started).toEqual(['a1', 'b1', 'a2']);
    timeSlices.isBusy = false;
    clock.advance(1);
    expect(started).toEqual(['a1', 'b1', 'a2', 'a3', 'a4', 'a5', 'a6']);
  });

  it('names the limit of the system when that is exhausted', () => {
    const { log, request, end } = setUp();
    request('a1');
    end('a1', 'connect ENFILE 10.0.0.1:80');
    expect(log[0]).toMatch(/too many open files in the system \(ENFILE\)/);
  });
});
