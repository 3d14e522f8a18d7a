import { seededRandom } from '../support/seeded-random';
import { INTERVAL_MS, LoadScene } from './load-scene';

/** Longer than the pauses of a stream that was cut. */
const LONG_MS = 300_000;

/** What can happen at a point of time. */
type Event = (scene: LoadScene, random: () => number) => void;

function cutClient(scene: LoadScene): void {
  const [stream] = scene.open;
  if (stream !== undefined) scene.relay?.cut(stream);
}

function cutRelay({ upstream }: LoadScene): void {
  upstream.streams.findLast(({ isOpen }) => isOpen)?.end();
}

const restart = (end: Event): Event => {
  return (scene, random) => {
    end(scene, random);
    scene.start(random);
  };
};
const ENDS: Readonly<Record<string, Event>> = {
  'the relay is killed': restart((scene) => scene.kill()),
  'the relay stops': restart((scene) => scene.stop()),
  'the stream of a client is cut': cutClient,
  'the stream of the relay is cut': cutRelay,
};
const STEP_MS = 50;

describe('the loads of clients of a relay', () => {
  let scene: LoadScene;
  let random: () => number;
  beforeEach(() => {
    random = seededRandom(1);
    scene = new LoadScene(random);
  });
  afterEach(() => {
    expect(scene.errors.filter((text) => text.startsWith('unexpected'))).toEqual([]);
  });

  // From before the first report of a client until after the relay has reported twice.
  const times = Array.from({ length: (4 * INTERVAL_MS) / STEP_MS }, (_, i) => i * STEP_MS);

  it.each(Object.keys(ENDS))('are counted once, whenever it happens that %s', (name) => {
    for (const atMs of times) {
      scene = new LoadScene(random);
      for (const worker of [0, 1]) {
        scene.use(worker, 'relay');
        scene.pass(330);
        scene.call(worker, 3);
      }
      scene.pass(atMs);
      scene.call(1, 5);
      ENDS[name]?.(scene, random);
      scene.call(0, 7);
      scene.pass(LONG_MS);
      expect([atMs, scene.reported]).toEqual([atMs, scene.made]);
    }
  });

  /** A relay that ends knows nothing of the streams that were cut, whose clients are not back yet. */
  const WORLDS: Readonly<Record<string, readonly Event[]>> = {
    'a relay that is killed and stopped': [
      restart((each) => each.kill()),
      restart((each) => each.stop()),
      (each) => each.kill(),
      (each) => each.start(random),
    ],
    'clients whose streams are cut': [cutClient],
  };

  it.each(
    Object.keys(WORLDS).flatMap((world) =>
      Array.from({ length: 20 }, (_, seed) => [world, seed] as const),
    ),
  )('are counted once, with %s at random, seed %d', (world, seed) => {
    random = seededRandom(seed);
    scene = new LoadScene(random, 3);
    for (const worker of [0, 1, 2]) scene.use(worker, 'relay');
    const actions: readonly Event[] = [
      ...(WORLDS[world] ?? []),
      cutRelay,
      (each) => void (each.upstream.isReachable = false),
      (each) => void (each.upstream.isReachable = true),
      (each) => void each.late.add('c'),
      (each) => each.findClusters(),
    ];
    for (let round = 0; round < 60; round++) {
      scene.call(Math.floor(random() * 3), 1 + Math.floor(random() * 5));
      // Reports are held for 15 s.
      if (round % 10 === 0) scene.findClusters();
      scene.pass(Math.floor(random() * 1.4 * INTERVAL_MS));
      if (random() < 0.4) actions[Math.floor(random() * actions.length)]?.(scene, random);
    }
    scene.upstream.isReachable = true;
    scene.findClusters();
    scene.start(random);
    scene.pass(LONG_MS);
    expect(scene.reported).toBe(scene.made);
  });

  it('are kept by a client that has no acknowledgement, in one report however long it takes', () => {
    scene.use(0, 'relay');
    scene.pass(0);
    scene.acknowledges = false;
    for (let i = 0; i < 20; i++) {
      scene.call(0);
      scene.pass(INTERVAL_MS);
    }
    // The node, and one report.
    expect(scene.open.map(({ messages }) => messages.length)).toEqual([2]);
    scene.kill();
    scene.acknowledges = true;
    scene.start(random);
    scene.pass(LONG_MS);
    // The first relay had reported the first call: the window between a report and its acknowledgement.
    expect(scene.reported).toBe(scene.made + 1);
  });

  it('are counted once when a client ends before its report is acknowledged', () => {
    for (const worker of [0, 1]) scene.use(worker, 'relay');
    scene.pass(INTERVAL_MS / 2);
    scene.upstream.isReachable = false;
    scene.call(0, 3);
    scene.pass(INTERVAL_MS);
    scene.call(0, 4);
    scene.close(0);
    expect(scene.open).toHaveLength(1);
    scene.upstream.isReachable = true;
    scene.pass(LONG_MS);
    expect(scene.reported).toBe(7);
  });

  it('are counted once when a client is in use again while it ends', () => {
    scene.use(0, 'relay');
    scene.pass(0);
    scene.call(0, 3);
    scene.close(0);
    scene.use(0, 'relay');
    scene.call(0, 4);
    scene.pass(LONG_MS);
    expect(scene.reported).toBe(7);
  });

  it('get to the server when a client uses it instead of a relay that does not come back', () => {
    scene.use(0, 'relay');
    scene.pass(INTERVAL_MS / 2);
    scene.upstream.isReachable = false;
    scene.call(0, 3);
    scene.pass(INTERVAL_MS);
    scene.kill();
    scene.upstream.isReachable = true;
    scene.call(0, 4);
    scene.use(0, 'upstream');
    scene.call(0, 5);
    scene.pass(LONG_MS);
    expect(scene.reported).toBe(12);
    scene.start(random);
    scene.use(0, 'relay');
    scene.call(0, 6);
    scene.pass(LONG_MS);
    expect(scene.reported).toBe(18);
  });

  it('are held while the relay does not have their cluster, for 15 s', () => {
    scene.late.add('c');
    scene.use(0, 'relay');
    scene.pass(0);
    scene.call(0, 3);
    scene.pass(10_000);
    expect(scene.reported).toBe(0);
    scene.findClusters();
    scene.pass(2 * INTERVAL_MS);
    expect(scene.reported).toBe(3);
    scene.late.add('c');
    scene.call(0, 4);
    scene.pass(20_000);
    scene.findClusters();
    scene.call(0, 5);
    scene.pass(LONG_MS);
    expect(scene.reported).toBe(8);
  });

  it('of a report that several servers share are acknowledged when all have them', () => {
    scene.use(0, 'relay', 'c');
    scene.use(0, 'relay', 'd');
    scene.pass(0);
    scene.call(0, 3, 'c');
    scene.call(0, 4, 'd');
    scene.pass(LONG_MS);
    expect(scene.reported).toBe(7);
  });
});
