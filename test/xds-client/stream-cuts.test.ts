import { StreamCuts } from '../../src/xds-client/stream-cuts';
import { StatusCode } from '../../src/util/status-code';
import { Harness } from './harness';

const SERVER = 'management server xds.test:1 (node "node-1")';

/** No jitter. */
const random = () => 0.5;

describe('the pauses of streams that a server ends', () => {
  /**
   * Each stream is open for so many milliseconds, and the next one follows after the pause, or a second.
   * @param connections That of each stream, if it outlived the stream. Default: all are on one.
   */
  function pausesOf(
    agesMs: readonly number[],
    connections: readonly (number | undefined)[] = agesMs.map(() => 1),
  ): readonly (number | undefined)[] {
    const cuts = new StreamCuts(random);
    let nowMs = 0;
    return agesMs.map((ageMs, i) => {
      const openedAtMs = nowMs;
      nowMs += ageMs;
      const pauseMs = cuts.onEnded({ openedAtMs, nowMs, connection: connections[i] });
      nowMs += pauseMs ?? 1000;
      return pauseMs;
    });
  }

  it.each([
    ['grow from the third cut on', [0, 0, 0, 0, 0, 0], [5, 25, 120, 120]],
    [
      'do not begin if the cuts are far apart',
      [14_000, 14_000, 14_000, 14_000],
      [undefined, undefined],
    ],
    ['do not begin if streams last', [30_000, 30_000, 30_000], [undefined]],
    ['go on although a stream was open for a while', [0, 0, 0, 29_999, 0], [5, 25, 120]],
    [
      'end with a stream that has lasted',
      [0, 0, 0, 50_000, 0, 0, 0],
      [5, undefined, undefined, undefined, 5],
    ],
    [
      'do not end with a stream that lasts for a pause of the other process',
      [0, 0, 0, 0, 0, 144_000, 239_999, 240_000, 0],
      [5, 25, 120, 120, 120, undefined, undefined],
    ],
  ])('%s', (_, agesMs, seconds) => {
    const pauses = pausesOf(agesMs);
    expect(pauses.slice(0, 2)).toEqual([undefined, undefined]);
    expect(pauses.slice(2)).toEqual(seconds.map((each) => each && each * 1000));
  });

  it.each([
    ['is lost with each stream', [undefined, undefined, undefined, undefined], [null, null]],
    ['is lost after each stream', [1, 2, 3, 4, 5], [null, null, null]],
    ['is lost with the third stream', [1, 1, undefined, 2, 2, 2], [null, null, null, 5]],
    ['is lost after the second stream', [1, 1, 2, 2, 2], [null, null, 5]],
    ['is lost after a pause', [1, 1, 1, 2, 3], [5, 25, 120]],
    ['is lost with a stream after a pause', [1, 1, 1, undefined, 2], [5, null, 25]],
  ])('count streams of one connection: it %s', (_, connections, seconds) => {
    const ages = connections.map(() => 100);
    const pauses = pausesOf(ages, connections).map((ms) => (ms === undefined ? null : ms / 1000));
    expect(pauses).toEqual([null, null, ...seconds]);
  });
});

describe('a server that ends each stream soon after it opened', () => {
  const cutStream = (h: Harness, ageMs = 0) => {
    h.send(h.listener, '1', { a: 'one' });
    h.clock.advance(ageMs);
    h.stream.end(StatusCode.OK, '', 1);
  };
  const cutThrice = () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    for (let i = 0; i < 2; i++) {
      cutStream(h);
      h.clock.advance(1000);
    }
    cutStream(h, 500);
    return h;
  };

  it('gets a stream after a pause, is logged once, and is shown', () => {
    const h = cutThrice();
    expect(h.server.streams).toHaveLength(3);
    const [{ shortStreams, retryInMs = 0, lastError, state } = {}] = h.client.snapshot().servers;
    expect({ shortStreams, lastError, state }).toEqual({
      ...{ shortStreams: 3, lastError: undefined, state: 'backoff' },
    });
    expect(retryInMs).toBeGreaterThanOrEqual(4000);
    h.clock.advance(3999);
    expect(h.server.streams).toHaveLength(3);
    h.clock.advance(2001);
    expect(h.server.streams).toHaveLength(4);
    cutStream(h);
    expect(h.logger.errors).toEqual([
      `${SERVER} ends each stream soon after it opened, the last one after 0.5 s with OK: see its log. A server that keeps ` +
        'one stream for each host, as the agent of Istio does, does so when several processes connect. Streams are opened ' +
        'after pauses of up to 2 minutes now; the configuration stays in use',
    ]);
  });

  it('gets a stream a second after the last one if the connection ended with it', () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    for (let streams = 1; streams <= 20; streams++) {
      expect(h.server.streams).toHaveLength(streams);
      h.send(h.listener, '1', { a: 'one' });
      h.clock.advance(100);
      h.stream.end(StatusCode.UNAVAILABLE, 'Connection dropped');
      h.clock.advance(900);
    }
    expect(h.client.snapshot().servers[0]?.shortStreams).toBe(0);
    expect(h.logger.errors).toEqual([]);
  });

  it('gets one at once for a resource that is not there yet, a second after the last', () => {
    const h = cutThrice();
    const watcher = h.watch(h.listener, 'b');
    h.clock.advance(499);
    expect(h.server.streams).toHaveLength(3);
    h.clock.advance(1);
    expect(h.server.streams).toHaveLength(4);
    // Cut before it was answered for b.
    cutStream(h);
    h.clock.advance(1000);
    expect(h.server.streams).toHaveLength(5);
    h.send(h.listener, '2', { a: 'one', b: 'two' });
    expect(watcher.take()).toEqual(['value two']);
  });

  it('is said to have recovered when a stream has lasted', () => {
    const h = cutThrice();
    h.clock.advance(6000);
    h.send(h.listener, '1', { a: 'one' });
    h.clock.advance(40_000);
    expect(h.client.snapshot().servers[0]?.shortStreams).toBe(3);
    h.clock.advance(20_000);
    expect(h.client.snapshot().servers[0]?.shortStreams).toBe(0);
    expect(h.logger.infos).toContain(`${SERVER}: a stream has lasted again`);
    h.stream.end(StatusCode.OK, '', 1);
    expect(h.server.streams).toHaveLength(5);
  });
});

/** An agent that keeps one stream for its host, and the processes behind it. */
class AgentHost {
  readonly processes: readonly Harness[];
  /** The number of streams that each process had had after the last step. */
  private readonly seen: number[];

  constructor(count: number) {
    this.processes = Array.from({ length: count }, () => new Harness());
    this.seen = this.processes.map(() => 0);
    for (const process of this.processes) {
      process.watch(process.listener, 'a');
      this.serveNewStreams();
    }
  }

  get streams(): number {
    return this.processes.reduce((sum, { server }) => sum + server.streams.length, 0);
  }

  advance(seconds: number): void {
    for (let step = 0; step < seconds * 10; step++) {
      for (const { clock } of this.processes) {
        clock.advance(100);
        this.serveNewStreams();
      }
    }
  }

  private serveNewStreams(): void {
    for (const [i, process] of this.processes.entries()) {
      if (process.server.streams.length === this.seen[i]) continue;
      this.seen[i] = process.server.streams.length;
      process.send(process.listener, '1', { a: 'one' });
      for (const other of this.processes) {
        if (other !== process && other.server.streams.at(-1)?.isOpen === true)
          other.stream.end(StatusCode.OK, '', 1);
      }
    }
  }
}

describe('processes behind an agent that keeps one stream', () => {
  it.each([4, 32])('%d of them stop ending the streams of each other', (count) => {
    const host = new AgentHost(count);
    expect(host.streams).toBe(count);
    host.advance(20);
    expect((host.streams - count) / count).toBeLessThanOrEqual(3);
    host.advance(100);
    const { streams } = host;
    host.advance(600);
    // At most one of each process in two minutes.
    expect((host.streams - streams) / count).toBeLessThanOrEqual(600 / 96);
  });
});
