import { StatusCode } from '../../src/util/status-code';
import {
  afterStreamEnd,
  LASTING_MS,
  NO_ENDS,
  type StreamEnd,
  type StreamEnds,
} from '../../src/xds-client/stream-ends';
import type { FakeStream } from '../support/fake-transport';
import { seededRandom } from '../support/seeded-random';
import { Harness, type RecordingWatcher } from './harness';

const SERVER = 'management server xds.test:1 (node "node-1")';

const DISPLACED: StreamEnd = {
  code: StatusCode.OK,
  ageMs: 100,
  connection: 1,
  hasAnswered: true,
  isAwaited: false,
};

const outcomeOf = (before: StreamEnds, end: StreamEnd) => {
  const { isFailure, pauseMs } = afterStreamEnd(before, end);
  return { isFailure, pauseMs };
};

/** The pauses after streams that end in a row, in seconds; null for the next stream at once. */
function pausesOf(ends: readonly Partial<StreamEnd>[]): readonly (number | null)[] {
  let state = NO_ENDS;
  return ends.map((end) => {
    const { ends: next, pauseMs } = afterStreamEnd(state, { ...DISPLACED, ...end });
    state = next;
    return pauseMs === undefined ? null : pauseMs / 1000;
  });
}

const times = <T>(count: number, value: T): readonly T[] =>
  Array.from({ length: count }, () => value);

describe('what follows the end of a stream', () => {
  const CODES = Object.entries(StatusCode);
  const AGES = [0, 100, 5000, LASTING_MS - 1, LASTING_MS, 600_000];
  const CONNECTIONS = [undefined, 1, 2];
  /** Before any end, after one, and in the midst of pauses. */
  const STATES: readonly StreamEnds[] = [
    NO_ENDS,
    { connection: 1, displaced: 1, awaited: 0, silent: 0, errors: 0 },
    { connection: 1, displaced: 9, awaited: 0, silent: 0, errors: 0 },
    { connection: 1, displaced: 9, awaited: 9, silent: 9, errors: 2 },
  ];
  const CASES = STATES.flatMap((before) =>
    AGES.flatMap((ageMs) =>
      CONNECTIONS.flatMap((connection) =>
        [true, false].flatMap((hasAnswered) =>
          [true, false].map((isAwaited) => ({
            before,
            end: { ageMs, connection, hasAnswered, isAwaited },
          })),
        ),
      ),
    ),
  );

  it.each(CODES)('is that of gRFC A57 for %s, unless it displaces the stream', (_, code) => {
    for (const { before, end } of CASES) {
      const isDisplaced =
        code === StatusCode.OK && end.connection !== undefined && end.ageMs < LASTING_MS;
      if (isDisplaced) continue;
      const after = afterStreamEnd(before, { code, ...end });
      const isError = code !== StatusCode.OK && end.hasAnswered;
      const counted = { ...before, errors: before.errors + (isError ? 1 : 0) };
      expect(after).toEqual({
        ends: end.ageMs >= LASTING_MS ? NO_ENDS : counted,
        isFailure: !end.hasAnswered,
        pauseMs: undefined,
      });
    }
  });

  it('is a pause of 1 s to 8 s for each stream that was displaced', () => {
    for (const { before, end } of CASES) {
      if (end.connection === undefined || end.ageMs >= LASTING_MS) continue;
      const {
        ends,
        isFailure,
        pauseMs = 0,
      } = afterStreamEnd(before, { code: StatusCode.OK, ...end });
      expect(pauseMs).toBeGreaterThanOrEqual(1000);
      expect(pauseMs).toBeLessThanOrEqual(8000);
      expect(ends.displaced).toBeGreaterThan(0);
      if (end.hasAnswered) expect(isFailure).toBe(false);
      if (!end.isAwaited) expect([1000, 8000]).toContain(pauseMs);
    }
  });

  it.each([
    ['grows with the second stream in a row', times(4, {}), [1, 8, 8, 8]],
    ['does not begin if streams last', times(4, { ageMs: LASTING_MS }), times(4, null)],
    ['ends with a stream that has lasted', [{}, {}, { ageMs: LASTING_MS }, {}], [1, 8, null, 1]],
    [
      'does not grow if each connection ends after its stream',
      [{ connection: 1 }, { connection: 2 }, { connection: 3 }],
      times(3, 1),
    ],
    [
      'goes on whatever becomes of the connection',
      [{}, {}, { connection: 2 }, { connection: 3 }],
      [1, 8, 8, 8],
    ],
    [
      'neither follows nor ends with another status',
      [{}, { code: StatusCode.UNAVAILABLE }, {}, { code: StatusCode.UNKNOWN }, {}],
      [1, null, 8, null, 8],
    ],
    [
      'is short while something is awaited, and grows',
      times(6, { isAwaited: true }),
      [1, 2, 4, 8, 8, 8],
    ],
    [
      'is short again once nothing was awaited in between',
      [{ isAwaited: true }, { isAwaited: true }, {}, { isAwaited: true }],
      [1, 2, 8, 1],
    ],
  ])('a pause %s', (_, ends, seconds) => {
    const pauses = pausesOf(ends);
    expect(pauses).toHaveLength(seconds.length);
    for (const [i, each] of pauses.entries()) {
      if (each === null) expect(seconds[i]).toBeNull();
      else expect(each).toBeCloseTo(seconds[i] ?? NaN);
    }
  });

  it('is a failure from the fifth displaced stream in a row on that had no response', () => {
    const end = { ...DISPLACED, hasAnswered: false, isAwaited: true };
    let state = NO_ENDS;
    const failures = times(6, end).map((each) => {
      const { isFailure } = outcomeOf(state, each);
      state = afterStreamEnd(state, each).ends;
      return isFailure;
    });
    expect(failures).toEqual([false, false, false, false, true, true]);
    expect(outcomeOf(state, DISPLACED).isFailure).toBe(false);
  });
});

describe('a server that displaces the streams of this process', () => {
  const displace = (h: Harness, ageMs = 0) => {
    h.send(h.listener, '1', { a: 'one' });
    h.clock.advance(ageMs);
    h.stream.end(StatusCode.OK, '', 1);
  };
  const displacedOften = () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    displace(h);
    h.clock.advance(1000);
    displace(h);
    h.clock.advance(8000);
    displace(h, 500);
    return h;
  };

  it('gets a stream after a pause, is logged once, and is shown', () => {
    const h = displacedOften();
    expect(h.server.streams).toHaveLength(3);
    const [{ shortStreams, retryInMs, lastError, state } = {}] = h.client.snapshot().servers;
    expect({ shortStreams, retryInMs, lastError, state }).toEqual({
      shortStreams: 3,
      retryInMs: 8000,
      lastError: undefined,
      state: 'backoff',
    });
    h.clock.advance(7999);
    expect(h.server.streams).toHaveLength(3);
    h.clock.advance(1);
    expect(h.server.streams).toHaveLength(4);
    displace(h);
    expect(h.logger.errors).toEqual([
      `${SERVER} keeps ending the stream of this process with OK, the last one after 0.5 s: it keeps one stream for each host, as ` +
        'the agent of Istio does, and several processes use it. Changes of the configuration, authorization policies included, are ' +
        'in use up to 10 s late: set GRPC_XDS_SHARE to the path of a socket, the same in each process, so that all of them share ' +
        'one stream: see docs/guides/several-processes.md',
    ]);
  });

  it('is said to have recovered when a stream has lasted', () => {
    const h = displacedOften();
    h.clock.advance(8000);
    h.send(h.listener, '1', { a: 'one' });
    h.clock.advance(LASTING_MS - 1);
    expect(h.client.snapshot().servers[0]?.shortStreams).toBe(3);
    h.clock.advance(1);
    expect(h.client.snapshot().servers[0]?.shortStreams).toBe(0);
    expect(h.logger.infos).toContain(`${SERVER}: a stream has lasted again`);
    h.stream.end(StatusCode.OK, '', 1);
    expect(h.server.streams).toHaveLength(5);
  });

  it('gets one at once for a resource that is not there yet, a second after the last', () => {
    const h = displacedOften();
    const watcher = h.watch(h.listener, 'b');
    h.clock.advance(499);
    expect(h.server.streams).toHaveLength(3);
    h.clock.advance(1);
    expect(h.server.streams).toHaveLength(4);
    // Displaced before it was answered for b.
    displace(h);
    h.clock.advance(1000);
    expect(h.server.streams).toHaveLength(5);
    h.send(h.listener, '2', { a: 'one', b: 'two' });
    expect(watcher.take()).toEqual(['value two']);
  });

  it('gets one at once for a type that was not answered', () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    h.watch(h.endpoints, 'e');
    h.send(h.endpoints, '1', { e: 'one' });
    displace(h);
    h.clock.advance(1000);
    expect(h.server.streams).toHaveLength(2);
    // Displaced before it was answered for e.
    displace(h);
    h.clock.advance(1000);
    expect(h.server.streams).toHaveLength(3);
  });

  it('gets one at once, and soon again, while calls wait for a change', () => {
    const h = displacedOften();
    const hurry = h.client.hurry();
    h.clock.advance(500);
    expect(h.server.streams).toHaveLength(4);
    displace(h);
    h.clock.advance(1000);
    expect(h.server.streams).toHaveLength(5);
    hurry.release();
    displace(h);
    h.clock.advance(7999);
    expect(h.server.streams).toHaveLength(5);
  });

  it('is neither called failed nor left for another server', () => {
    const h = displacedOften();
    expect(h.client.serverFailures()).toEqual([]);
  });
});

describe('streams that end with an error although the server answers', () => {
  const TOO_LARGE = 'Received message larger than max (70000 vs 65536)';
  const REASON =
    `ended the stream with RESOURCE_EXHAUSTED: ${TOO_LARGE}: raise register({ limits: { maxMessageBytes } }), or send ` +
    'less';
  const endOften = (count: number) => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    const pending = h.watch(h.endpoints, 'e');
    for (let i = 0; i < count; i++) {
      h.send(h.listener, '1', { a: 'one' });
      h.clock.advance(100);
      h.stream.end(StatusCode.RESOURCE_EXHAUSTED, TOO_LARGE, 1);
      if (i + 1 < count) h.clock.advance(900);
    }
    return { h, pending };
  };

  it('are logged once, from the third in a row on, with the status and the next step', () => {
    expect(endOften(2).h.logger.errors).toEqual([]);
    const { h } = endOften(6);
    expect(h.logger.errors).toEqual([
      `${SERVER} ${REASON}; this is the third stream in a row that ends soon after a response: changes may be missing; a new ` +
        'one is opened each second',
      `Endpoints "e": waiting for 5.0 s: ${SERVER} ${REASON}; giving up in 15.0 s`,
    ]);
    expect(h.client.snapshot().servers[0]?.lastError).toBe(`${SERVER} ${REASON}`);
    expect(h.client.serverFailures()).toEqual([]);
  });

  it('are named by what waits for a resource, from the first on', () => {
    const { h } = endOften(1);
    expect(h.client.waitingFor(1)[0]).toContain(`${SERVER} ${REASON}; next attempt in 0.9 s`);
    expect(h.client.snapshot().servers[0]?.lastError).toBeUndefined();
  });

  it('are over when a stream has lasted', () => {
    const { h } = endOften(3);
    h.clock.advance(900);
    h.send(h.listener, '1', { a: 'one' });
    h.clock.advance(LASTING_MS);
    expect(h.logger.infos).toContain(`${SERVER}: a stream has lasted again`);
    expect(h.client.snapshot().servers[0]?.lastError).toBeUndefined();
  });
});

describe('a server that restarts behind an agent which stays', () => {
  it.each([
    ['the agent hands on the end as UNAVAILABLE', StatusCode.UNAVAILABLE, 1],
    ['the agent hands on the end as UNKNOWN', StatusCode.UNKNOWN, 1],
    ['the connection ends with the stream', StatusCode.UNAVAILABLE, undefined],
    ['the connection ends with the stream, which ends with OK', StatusCode.OK, undefined],
  ])('gets a stream a second after the last one: %s', (_, code, connection) => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    for (let streams = 1; streams <= 20; streams++) {
      expect(h.server.streams).toHaveLength(streams);
      h.send(h.listener, '1', { a: 'one' });
      h.clock.advance(100);
      h.stream.end(code, 'EOF', connection);
      h.clock.advance(900);
    }
    expect(h.client.snapshot().servers[0]?.shortStreams).toBe(0);
    // Ends with OK are no errors.
    const lines =
      code === StatusCode.OK ? [] : [expect.stringContaining(`${SERVER} ended the stream`)];
    expect(h.logger.errors).toEqual(lines);
  });
});

/** An agent that keeps one stream for its host, and the processes behind it. Its control plane takes a while to answer. */
class AgentHost {
  readonly processes: readonly Harness[];
  readonly watchers: readonly RecordingWatcher[];
  /** When each stream was opened, in seconds. */
  readonly openedAt: number[] = [];
  private nowMs = 0;
  private value = 'one';
  private readonly seen: number[];

  constructor(
    count: number,
    private readonly latencyMs: number,
    seed: number,
  ) {
    const random = seededRandom(seed);
    this.processes = Array.from({ length: count }, () => new Harness({ random }));
    this.seen = this.processes.map(() => 0);
    this.watchers = this.processes.map((process) => {
      process.watch(process.listener, 'a');
      return process.watch(process.endpoints, 'e');
    });
  }

  change(value: string): void {
    this.value = value;
    this.serve(this.holder);
  }

  restart(): void {
    const { holder } = this;
    if (holder?.stream.isOpen === true) holder.stream.end(StatusCode.UNAVAILABLE, 'EOF', 1);
  }

  advance(seconds: number): void {
    for (let step = 0; step < seconds * 20; step++) {
      this.nowMs += 50;
      for (const { clock } of this.processes) {
        clock.advance(50);
        this.registerNewStreams();
      }
      this.answer();
    }
  }

  /** The largest number of streams that were opened within 30 s. */
  get mostStreams(): number {
    const { openedAt } = this;
    return Math.max(
      ...openedAt.map((from) => openedAt.filter((at) => at >= from && at < from + 30).length),
    );
  }

  /** Whose stream is above the agent, and when it is answered. */
  private holder: Harness | undefined;
  private due: { process: Harness; stream: FakeStream; atMs: number } | undefined;

  private registerNewStreams(): void {
    for (const [i, process] of this.processes.entries()) {
      const { streams } = process.server;
      if (streams.length === this.seen[i]) continue;
      this.seen[i] = streams.length;
      this.openedAt.push(this.nowMs / 1000);
      const { holder } = this;
      this.holder = process;
      if (holder !== undefined && holder !== process && holder.server.stream.isOpen) {
        holder.stream.end(StatusCode.OK, '', 1);
      }
      this.due = { process, stream: process.stream, atMs: this.nowMs + this.latencyMs };
    }
  }

  private answer(): void {
    if (this.due === undefined || this.due.atMs > this.nowMs) return;
    const { process, stream } = this.due;
    this.due = undefined;
    if (stream === process.stream) this.serve(process);
  }

  private serve(process: Harness | undefined): void {
    if (process?.server.stream.isOpen !== true) return;
    process.send(process.listener, this.value, { a: this.value });
    if (!process.stream.isOpen) return;
    process.send(process.endpoints, this.value, { e: this.value });
  }
}

describe('processes behind an agent that keeps one stream', () => {
  describe.each([
    [2, 50],
    [4, 50],
    [4, 300],
    [8, 100],
  ])('%d of them, with a control plane that answers after %d ms', (count, latencyMs) => {
    it.each([1, 2, 3])('have each change within 12 s (seed %d)', (seed) => {
      const host = new AgentHost(count, latencyMs, seed);
      host.advance(15);
      for (let change = 1; change <= 6; change++) {
        host.restart();
        host.advance(3);
        for (const watcher of host.watchers) watcher.take();
        host.change(`change ${change}`);
        host.advance(12);
        const told = host.watchers.map((watcher) => watcher.take().at(-1));
        expect(told).toEqual(times(count, `value change ${change}`));
      }
    });
  });

  it.each([1, 2, 3])('open at most 24 streams in 30 s, four of them (seed %d)', (seed) => {
    const host = new AgentHost(4, 50, seed);
    for (let restart = 1; restart <= 10; restart++) {
      host.advance(12);
      host.restart();
    }
    host.advance(30);
    expect(host.mostStreams).toBeLessThanOrEqual(24);
  });
});
