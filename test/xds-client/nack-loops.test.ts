import { NackPacing } from '../../src/xds-client/ads/nack-pacing';
import { FakeClock } from '../support/fake-clock';
import type { FakeStream } from '../support/fake-transport';
import { DeltaHarness, Harness } from './harness';

/** A server that answers each rejection at once with what was rejected, as long as `serve` has it so. */
class StubbornServer {
  rejections = 0;
  private readonly seen = new WeakMap<FakeStream, number>();

  constructor(
    private readonly h: Harness,
    private readonly resend: () => void,
  ) {}

  /** Lets time pass, in steps of 1 ms. */
  advance(ms: number): void {
    for (let passed = 0; passed < ms; passed++) {
      this.serve();
      this.h.clock.advance(1);
    }
    this.serve();
  }

  private serve(): void {
    for (;;) {
      const { stream } = this.h;
      const requests = [...stream.requests, ...stream.deltaRequests];
      const rejected = requests.filter(({ errorDetail }) => errorDetail !== undefined).length;
      const before = this.seen.get(stream) ?? 0;
      if (rejected === before) return;
      this.seen.set(stream, rejected);
      this.rejections += rejected - before;
      this.resend();
    }
  }
}

let versions = 0;

/** What is the same is the same under any version. */
function newVersion(): string {
  versions++;
  return `v${versions}`;
}

describe.each([
  [
    'state of the world',
    () => new Harness(),
    (h: Harness, value: string) => h.send(h.endpoints, newVersion(), { a: value }),
  ],
  [
    'incremental',
    () => new DeltaHarness(),
    (h: Harness, value: string) => {
      if (h instanceof DeltaHarness) h.sendDelta(h.endpoints, newVersion(), { a: value });
    },
  ],
])('a server that answers a rejection with the same again (%s)', (_variant, create, send) => {
  // 100 + 200 + 400 + … ms, and 5 s each from then on.
  it('is rejected ever more slowly', () => {
    const h = create();
    h.watch(h.endpoints, 'a');
    const server = new StubbornServer(h, () => send(h, '!bad'));
    send(h, '!bad');
    server.advance(1000);
    expect(server.rejections).toBe(4);
    server.advance(29_000);
    expect(server.rejections).toBeGreaterThan(8);
    expect(server.rejections).toBeLessThan(13);
  });

  it('is read at once when it sends a valid resource, and its backoff ends after a while', () => {
    const h = create();
    const watcher = h.watch(h.endpoints, 'a');
    const server = new StubbornServer(h, () => send(h, '!bad'));
    send(h, '!bad');
    server.advance(20_000);
    const before = server.rejections;
    send(h, 'good');
    expect(watcher.told.at(-1)).toBe('value good');
    const answers = [...h.stream.requests, ...h.stream.deltaRequests];
    expect(answers.at(-1)?.errorDetail).toBeUndefined();
    h.clock.advance(30_000);
    send(h, '!bad');
    server.advance(0);
    expect(server.rejections).toBe(before + 1 + (h instanceof DeltaHarness ? 1 : 0));
  });

  it('does not keep other types waiting', () => {
    const h = create();
    h.watch(h.endpoints, 'a');
    const other = h.watch(h.listener, 'l');
    const server = new StubbornServer(h, () => send(h, '!bad'));
    send(h, '!bad');
    server.advance(10_000);
    for (let round = 0; round < 20; round++) {
      if (h instanceof DeltaHarness) h.sendDelta(h.listener, '1', { l: `value ${round}` });
      else h.send(h.listener, '1', { l: `value ${round}` });
      expect(other.values.at(-1)?.text).toBe(`value ${round}`);
      const requests = [...h.stream.requests, ...h.stream.deltaRequests];
      expect(requests.at(-1)).toMatchObject({
        typeUrl: h.listener.typeUrl,
        errorDetail: undefined,
      });
    }
  });

  it('receives new names without delay', () => {
    const h = create();
    h.watch(h.endpoints, 'a');
    const server = new StubbornServer(h, () => send(h, '!bad'));
    send(h, '!bad');
    server.advance(10_000);
    h.stream.clearRequests();
    h.watch(h.endpoints, 'new');
    const [names] = h.stream.requests.map(({ resourceNames }) => resourceNames);
    const [newNames] = h.stream.deltaRequests.map((request) => request.resourceNamesSubscribe);
    expect(names ?? newNames).toContain('new');
  });
});

describe('a server that does not wait for the answer before it sends the same again', () => {
  it('is read with pauses, and what it sends in the end is not long in coming', () => {
    const h = new Harness();
    const watcher = h.watch(h.endpoints, 'a');
    for (let round = 0; round < 1000; round++) h.send(h.endpoints, '2', { a: '!bad' });
    h.send(h.endpoints, '3', { a: 'good' });
    expect(h.endpoints.decoded.length).toBeLessThan(4);
    h.clock.advance(100);
    expect(h.endpoints.decoded.length).toBeLessThan(110);
    h.clock.advance(1000);
    expect(watcher.told.at(-1)).toBe('value good');
    expect(h.stream.request).toMatchObject({ versionInfo: '3', responseNonce: 'n1001' });
  });

  it.each([
    [0, 1],
    [2, 8],
    [100, 400],
    [5000, 1000],
  ])('after %d ms of reading there is a pause of %d ms', (readMs, pauseMs) => {
    const clock = new FakeClock();
    const nacks = new NackPacing({ clock, random: () => 0.5, onDue: () => {} });
    const paces = ['first', 'held', 'not even waited for'].map(() =>
      nacks.reject('type', { reason: 'bad', hasNews: false, readMs }),
    );
    expect(paces).toEqual([
      { isHeld: false, readPauseMs: 0 },
      { isHeld: true, readPauseMs: 0 },
      { isHeld: true, readPauseMs: pauseMs },
    ]);
  });
});

describe('responses that are rejected in a row', () => {
  /** Milliseconds until each of ten responses is rejected. */
  function delays(valuesOf: (round: number) => Record<string, string>): number[] {
    const h = new Harness();
    h.watch(h.endpoints, 'bad');
    h.watch(h.endpoints, 'good');
    return Array.from({ length: 10 }, (_, round) => {
      h.stream.clearRequests();
      h.send(h.endpoints, '2', valuesOf(round));
      let waitedMs = 0;
      for (; h.stream.requests.length === 0; waitedMs++) h.clock.advance(1);
      expect(h.stream.requests).toMatchObject([
        { errorDetail: { code: 3 }, responseNonce: `n${round + 1}` },
      ]);
      return waitedMs;
    });
  }

  it('are rejected ever more slowly for the same reason, whatever the rest of them is', () => {
    const waits = delays((round) => ({ bad: '!bad', good: 'same', other: `${round}` }));
    expect(waits[0]).toBe(0);
    expect(waits.at(-1)).toBeGreaterThanOrEqual(4000);
  });

  it.each([
    ['while what is valid in them changes', (i: number) => ({ bad: '!bad', good: `value ${i}` })],
    ['for different reasons', (i: number) => ({ bad: `!bad ${i}`, good: 'same' })],
  ])('are rejected a moment apart %s', (_when, valuesOf) => {
    const waits = delays(valuesOf);
    expect(waits[0]).toBe(0);
    expect(Math.max(...waits)).toBeLessThanOrEqual(120);
  });

  it('are another row after one that is accepted', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'a');
    const server = new StubbornServer(h, () => h.send(h.endpoints, newVersion(), { a: '!bad' }));
    h.send(h.endpoints, newVersion(), { a: '!bad' });
    server.advance(10_000);
    h.send(h.endpoints, newVersion(), { a: 'good' });
    h.clock.advance(120);
    const { rejections } = server;
    h.send(h.endpoints, newVersion(), { a: '!bad' });
    server.advance(0);
    expect(server.rejections).toBe(rejections + 1);
  });
});
