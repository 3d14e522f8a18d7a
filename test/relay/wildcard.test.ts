import { CDS, cluster } from '../control-plane/resources';
import { eventually } from '../support/eventually';
import { VARIANTS } from '../support/mesh';
import { openRawWorld, type RawWorld } from './raw-world';
import { RelayScene } from './relay-scene';

const mixes = VARIANTS.flatMap(([above, features]) =>
  [false, true].map(
    (isDelta) =>
      [above, isDelta ? 'incremental' : 'state of the world', features, isDelta] as const,
  ),
);

describe.each(mixes)(
  'clients of all clusters behind a relay: %s above, %s below',
  (_above, _below, features, isDelta) => {
    let scene: RelayScene;
    let worlds: RawWorld[];

    beforeEach(async () => {
      worlds = [];
      scene = await RelayScene.start({}, features);
    });
    afterEach(() => {
      for (const world of worlds) world.close();
      scene.stop();
    });

    function open(address: string, names: readonly string[]): RawWorld {
      const world = openRawWorld(isDelta, address, { id: `n${worlds.length}` });
      worlds.push(world);
      world.subscribe(names);
      return world;
    }

    /** A client behind the relay and one beside it. */
    function openBoth(names: readonly string[]) {
      const both = [open(scene.upstream, names), open(scene.listen, names)] as const;
      return {
        subscribe: (next: readonly string[]) => both.forEach((world) => world.subscribe(next)),
        /** Waits until both have these clusters, with the same bytes. */
        async have(...expected: readonly string[]): Promise<void> {
          const read = () => both.map((world) => world.describe());
          const names = (text = '') => [...text.matchAll(/\["([^"]*)"/g)].map(([, name]) => name);
          await eventually(
            read,
            ([direct, behind]) =>
              direct === behind && names(direct).join() === [...expected].sort().join(),
          );
        },
      };
    }

    const serve = (...names: readonly string[]) =>
      scene.serve({ clusters: names.map((name) => cluster(name)) });

    it.each<[string, readonly string[]]>([
      ['without names', []],
      ['with *', ['*']],
    ])(
      'receive each resource, each change and each removal: a first request %s',
      async (_how, names) => {
        serve('a', 'b');
        const both = openBoth(names);
        await both.have('a', 'b');
        serve('b', 'c', 'd');
        await both.have('b', 'c', 'd');
        scene.serve({ clusters: [{ ...cluster('b'), lb_policy: 'RING_HASH' as const }] });
        await both.have('b');
        serve();
        await both.have();
        serve('a');
        await both.have('a');
        expect(scene.controlPlane.clients().map(({ types }) => types.get(CDS)?.wildcard)).toEqual([
          true,
          true,
        ]);
      },
    );

    it('receive all resources while others subscribe to names, before and after', async () => {
      serve('a', 'b', 'c');
      const named = openBoth(['a']);
      await named.have('a');
      const all = openBoth([]);
      await all.have('a', 'b', 'c');
      const later = openBoth(['b', 'gone']);
      await later.have('b');
      serve('b', 'd');
      await Promise.all([named.have(), all.have('b', 'd'), later.have('b')]);
      serve('a', 'b', 'd', 'gone');
      await Promise.all([
        named.have('a'),
        all.have('a', 'b', 'd', 'gone'),
        later.have('b', 'gone'),
      ]);
    });

    it('can subscribe to names at the same time, and unsubscribe from all', async () => {
      serve('a', 'b', 'c');
      const both = openBoth(['*', 'a']);
      await both.have('a', 'b', 'c');
      both.subscribe(['a', 'c']);
      await both.have('a', 'c');
      serve('a', 'b', 'd');
      await both.have('a');
      both.subscribe(['*', 'a']);
      await both.have('a', 'b', 'd');
    });

    it('receive what has changed meanwhile when either side was restarted', async () => {
      serve('a', 'b');
      const all = openBoth([]);
      await all.have('a', 'b');
      scene.controlPlane.kill();
      await scene.restartControlPlane({ clusters: [cluster('b'), cluster('c')] });
      const later = open(scene.listen, []);
      await eventually(
        () => later.describe(),
        (text) => text.includes('"c"') && !text.includes('"a"'),
      );
      scene.relay.kill();
      await scene.startRelay();
      const named = openBoth(['c']);
      const again = openBoth([]);
      await Promise.all([named.have('c'), again.have('b', 'c')]);
    });

    it('are served the last resources while the server is away', async () => {
      serve('a', 'b');
      const all = openBoth([]);
      await all.have('a', 'b');
      const known = all;
      scene.controlPlane.kill();
      const later = open(scene.listen, ['*']);
      await eventually(
        () => later.describe(),
        (text) => text.includes('"a"') && text.includes('"b"'),
      );
      expect(known).toBe(all);
    });

    it('reject resources at the server as clients of names do', async () => {
      serve('a');
      const world = openRawWorld(isDelta, scene.listen, { id: 'picky' });
      worlds.push(world);
      world.rejectNext('the field x is bad');
      world.subscribe([]);
      const nacked = () => scene.events.filter(({ kind }) => kind === 'nacked');
      await eventually(nacked, ({ length }) => length > 0);
      expect(nacked()).toEqual([
        expect.objectContaining({
          typeUrl: CDS,
          message: 'client of the relay, node "picky", rejected Cluster: the field x is bad',
        }),
      ]);
    });
  },
);
