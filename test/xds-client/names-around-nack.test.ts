import { DeltaHarness, Harness, RecordingWatcher } from './harness';
import { GoControlPlaneModel, IstiodModel } from './model-servers';

/** A server that repeats itself without waiting for the answer is read with pauses of a millisecond. */
const SOON_MS = 15;

describe.each([
  ['state of the world', () => new Harness()],
  ['incremental', () => new DeltaHarness()],
])('a server that ignores everything in a NACK (%s)', (_variant, create) => {
  /** A client that has received a resource that it rejects, and one that it uses. */
  function reject(rounds: number): { h: Harness; server: IstiodModel } {
    const h = create();
    const server = new IstiodModel(h, h.endpoints);
    server.resources.set('bad', '!bad').set('good', 'one').set('new', 'two');
    h.watch(h.endpoints, 'bad');
    h.watch(h.endpoints, 'good');
    server.serve();
    for (let round = 1; round < rounds; round++) server.push();
    server.serve();
    return { h, server };
  }

  it.each([1, 2, 3])('responds soon to a name requested after %d rejections in a row', (rounds) => {
    const { h, server } = reject(rounds);
    const watcher = h.watch(h.endpoints, 'new');
    server.advance(SOON_MS);
    expect(watcher.told).toEqual(['value two']);
  });

  it.each([1, 2, 3])(
    'responds soon to a name whose request crossed %d responses that are rejected',
    (rounds) => {
      const { h, server } = reject(1);
      const watcher = h.watch(h.endpoints, 'new');
      for (let round = 0; round < rounds; round++) server.push();
      server.advance(SOON_MS);
      expect(watcher.told).toEqual(['value two']);
    },
  );

  it('responds to a name that is requested because of the response that is rejected', () => {
    const { h, server } = reject(1);
    const follower = new RecordingWatcher();
    let handle: { release(): void } | undefined;
    h.watch(
      h.endpoints,
      'trigger',
      new RecordingWatcher(() => {
        handle ??= h.client.watch(h.endpoints, 'new', follower);
      }),
    );
    server.serve();
    // Longer than between two rejections of different resources, so that this one is not held back.
    server.advance(50);
    server.resources.set('trigger', 'now');
    server.push();
    server.advance(SOON_MS);
    expect(follower.told).toEqual(['value two']);
  });

  it('responds to a name that was released and requested anew around a rejection', () => {
    const { h, server } = reject(2);
    h.watch(h.endpoints, 'new').release();
    server.serve();
    const watcher = h.watch(h.endpoints, 'new');
    server.advance(SOON_MS);
    expect(watcher.told).toEqual(['value two']);
  });

  it('still receives the NACKs', () => {
    const { h, server } = reject(3);
    h.watch(h.endpoints, 'new');
    server.advance(1000);
    const requests = [...h.stream.requests, ...h.stream.deltaRequests];
    const rejections = requests.filter(({ errorDetail }) => errorDetail !== undefined);
    expect(rejections.at(-1)?.errorDetail?.message).toBe('Endpoints "bad": bad');
    expect(rejections.length).toBeGreaterThan(1);
  });

  it('does not receive requests without end for a name that does not exist', () => {
    const { h, server } = reject(2);
    h.watch(h.endpoints, 'missing');
    server.advance(3000);
    const before = server.requests;
    server.advance(3000);
    expect(server.requests).toBe(before);
  });
});

describe('a server that responds to every request for another version', () => {
  function reject(): { h: Harness; server: GoControlPlaneModel } {
    const h = new Harness();
    const server = new GoControlPlaneModel(h, h.endpoints);
    server.resources.set('bad', '!bad').set('good', 'one').set('new', 'two');
    h.watch(h.endpoints, 'bad');
    h.watch(h.endpoints, 'good');
    server.advance(10_000);
    return { h, server };
  }

  it('responds soon to a name requested while it repeats what is rejected', () => {
    const { h, server } = reject();
    const watcher = h.watch(h.endpoints, 'new');
    server.advance(SOON_MS);
    expect(watcher.told).toEqual(['value two']);
  });

  // A NACK every 5 s, and a request that repeats the name with it.
  it.each([
    ['every name is there', 'new', 12],
    ['a name is missing', 'missing', 26],
  ])('does not receive requests in a loop when %s', (_what, name, most) => {
    const { h, server } = reject();
    const before = server.requests;
    h.watch(h.endpoints, name);
    server.advance(30_000);
    expect(server.requests - before).toBeLessThanOrEqual(most);
  });

  it('receives each of many names that do not exist at most four times, besides the NACKs', () => {
    const { h, server } = reject();
    const before = server.requests;
    for (let index = 0; index < 100; index++) {
      h.watch(h.endpoints, `missing ${index}`);
      server.serve();
    }
    expect(server.requests - before).toBeLessThanOrEqual(402);
  });
});
