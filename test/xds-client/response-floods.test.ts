import { MESSAGE_COST_MS, TIME_BURST_MS } from '../../src/xds-client/limits';
import { DeltaHarness, Harness } from './harness';

// A response costs 40 times as much, so that a fortieth of them uses up the burst.
jest.mock('../../src/xds-client/limits', () => ({
  ...jest.requireActual<object>('../../src/xds-client/limits'),
  MESSAGE_COST_MS: 1,
}));

/** Responses that are read at once, and those that are read in a second after that at a share of a quarter. */
const BURST = TIME_BURST_MS / MESSAGE_COST_MS;
const PER_SECOND = 1000 / (4 * MESSAGE_COST_MS);

const UNKNOWN = 'type.googleapis.com/test.Unknown';

const floods: readonly (readonly [string, () => Harness, (h: Harness, index: number) => void])[] = [
  [
    'without resources',
    () => new Harness(),
    (h, index) => h.stream.respond({ typeUrl: h.endpoints.typeUrl, versionInfo: `${index}` }),
  ],
  [
    'with one nonce',
    () => new Harness(),
    (h) => h.stream.respond({ typeUrl: h.endpoints.typeUrl, versionInfo: '1', nonce: 'n' }),
  ],
  ['of an unknown type', () => new Harness(), (h) => h.stream.respond({ typeUrl: UNKNOWN })],
  [
    'of a type that is not requested',
    () => new Harness(),
    (h) => h.stream.respond({ typeUrl: h.listener.typeUrl }),
  ],
  [
    'without resources, incremental',
    () => new DeltaHarness(),
    (h) => h.stream.respondDelta({ typeUrl: h.endpoints.typeUrl }),
  ],
];

describe.each(floods)('a flood of responses %s', (_what, create, respond) => {
  // 1. A server sends responses as fast as they are read. 2. As many are read as there is time for. 3. It goes on. 4. It
  // sends something good.
  it('is read at a pace once the burst is used up, and a good response is obeyed', () => {
    const h = create();
    const watcher = h.watch(h.endpoints, 'a');
    let index = 0;
    const flood = () => {
      const before = index;
      while (h.stream.credits > 0) {
        respond(h, index++);
      }
      return index - before;
    };
    // Time stands still.
    const atOnce = flood();
    expect(atOnce).toBeGreaterThan(0.9 * BURST);
    expect(atOnce).toBeLessThanOrEqual(BURST + 1);
    let read = 0;
    for (let ms = 0; ms < 1000; ms++) {
      h.clock.advance(1);
      read += flood();
    }
    expect(read).toBeGreaterThan(0.4 * PER_SECOND);
    expect(read).toBeLessThanOrEqual(PER_SECOND + 1);
    h.clock.advance(10);
    if (h instanceof DeltaHarness) h.sendDelta(h.endpoints, '2', { a: 'good' });
    else h.send(h.endpoints, '2', { a: 'good' });
    expect(watcher.values.at(-1)).toEqual({ text: 'good' });
  });
});

describe('small responses that follow one another', () => {
  it('are read in turns, between which other work runs', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'a');
    const reads: number[] = [];
    let now = h.clock.monotonicMs();
    // Each look at the clock is a tenth of a millisecond after the last one.
    jest.spyOn(h.clock, 'monotonicMs').mockImplementation(() => (now += 0.1));
    for (let turn = 0; turn < 20; turn++) {
      let count = 0;
      while (h.stream.credits > 0) {
        h.send(h.endpoints, `${turn} ${count}`, { a: `value ${turn} ${count}` });
        count++;
      }
      reads.push(count);
      h.clock.advance(1);
    }
    jest.restoreAllMocks();
    expect(Math.max(...reads)).toBeLessThan(10);
    expect(Math.min(...reads)).toBeGreaterThan(0);
  });

  it('are read without a pause at a start', () => {
    const h = new Harness();
    const watchers = Array.from({ length: 1000 }, (_, i) => h.watch(h.endpoints, `${i}`));
    watchers.forEach((_watcher, i) => h.send(h.endpoints, '1', { [`${i}`]: 'one' }));
    expect(watchers.filter(({ values }) => values.length === 1)).toHaveLength(1000);
    expect(h.stream.credits).toBe(1);
  });
});
