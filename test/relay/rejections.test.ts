import type { ClientEvent } from '../../src/control-plane';
import { AdsClient } from '../control-plane/ads-client';
import { CDS, cluster } from '../control-plane/resources';
import { eventually } from '../support/eventually';
import { DISTANT_VARIANTS } from '../support/mesh';
import { openRawWorld, type RawWorld } from './raw-world';
import { RelayScene } from './relay-scene';

const mixes = DISTANT_VARIANTS.flatMap(([above, features]) =>
  [false, true].map(
    (isDelta) =>
      [above, isDelta ? 'incremental' : 'state of the world', features, isDelta] as const,
  ),
);

const REJECTED = {
  kind: 'nacked',
  typeUrl: CDS,
  message: 'client of the relay, node "picky", rejected Cluster: the field x is bad',
};

describe.each(mixes)(
  'what a client behind a relay rejects: %s above, %s below',
  (_above, _below, features, isDelta) => {
    let scene: RelayScene;
    let client: RawWorld;

    beforeEach(async () => {
      scene = await RelayScene.start({}, features);
      client = openRawWorld(isDelta, scene.listen, { id: 'picky' });
    });
    afterEach(() => {
      client.close();
      scene.stop();
    });

    const answers = () => {
      const isAnswer = ({ kind }: ClientEvent) => kind === 'acked' || kind === 'nacked';
      return scene.events.filter(isAnswer);
    };

    it('is rejected at the control plane, also when another process of it sends the same', async () => {
      scene.serve({ clusters: [cluster('a')] });
      client.rejectNext('the field x is bad');
      client.subscribe(['a']);
      await eventually(answers, ({ length }) => length > 1);
      expect(answers()).toMatchObject([{ kind: 'acked', typeUrl: CDS }, REJECTED]);
      void scene.controlPlane.close({ force: true });
      scene.events.splice(0);
      await scene.restartControlPlane({ clusters: [cluster('a')] });
      await eventually(answers, ({ length }) => length > 1);
      expect(answers()).toMatchObject([{ kind: 'acked', typeUrl: CDS }, REJECTED]);
    });

    it('is not rejected any more once the client has accepted another version', async () => {
      scene.serve({ clusters: [cluster('a')] });
      client.rejectNext('the field x is bad');
      client.subscribe(['a']);
      await eventually(answers, ({ length }) => length > 1);
      scene.serve({ clusters: [{ ...cluster('a'), lb_policy: 'RING_HASH' as const }] });
      await eventually(answers, ({ length }) => length > 2);
      const [{ types } = { types: new Map() }] = scene.controlPlane.clients();
      expect(types.get(CDS)?.rejection).toBeUndefined();
    });
  },
);

it('a relay refuses a subscription to all resources', async () => {
  const scene = await RelayScene.start();
  const client = new AdsClient(scene.listen);
  const stream = client.open();
  stream.subscribe(CDS, [], { node: { id: 'envoy' } });
  await expect(stream.next()).rejects.toThrow(
    'UNIMPLEMENTED: a relay serves no subscriptions to all resources of a type (*): subscribe to names',
  );
  client.close();
  scene.stop();
});
