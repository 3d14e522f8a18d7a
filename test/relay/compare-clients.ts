import { eventually } from '../support/eventually';
import { skipTime } from '../support/fast-clock';
import type { ChangingWorld } from './changing-world';
import { ObservedConfig } from './observed-config';
import { openRawWorld } from './raw-world';
import { RelayScene } from './relay-scene';

/** What is compared. */
export interface Comparison {
  /** The `server_features` by which the relay uses the control plane. */
  readonly upstream: readonly string[];
  /** Those of the clients. */
  readonly features: readonly string[];
  readonly world: ChangingWorld;
  readonly changes: number;
  readonly relay: Parameters<typeof RelayScene.start>[2];
}

/** Far above the 15 s after which a resource that its server does not send is known not to exist (gRFC A57). */
const WAIT_MS = 60_000;
/** After so long, the end of a stream is no cut (docs/decisions/ads-streams.md). */
const LASTING_MS = 300_000;

/**
 * Compares the config of a target, and all clusters as raw clients of `*` have them. Changes the resources, and restarts the control plane and the relay in turn, with one of
 * eight changes each.
 */
export async function compareThroughChanges(comparison: Comparison): Promise<void> {
  const { upstream, features, world, changes, relay } = comparison;
  const scene = await RelayScene.start({}, upstream, relay);
  const direct = new ObservedConfig('direct', scene.upstream, features);
  const behind = new ObservedConfig('behind', scene.listen, features);
  const isDelta = features.includes('grpc_xds_delta');
  const all = [scene.upstream, scene.listen].map((address) =>
    openRawWorld(isDelta, address, { id: 'all' }),
  );
  for (const each of all) each.subscribe([]);
  const differs = () => all[0]?.describe() !== all[1]?.describe();
  try {
    for (let step = 0; step <= changes; step++) {
      if (step > 0) world.change();
      await serve(scene, world, step);
      const hasStep = () =>
        direct.hasStep(step) && behind.hasStep(step) && !differs() && scene.isAcknowledged;
      const read = () => [hasStep(), direct.describe(), behind.describe()] as const;
      const isSame = ([isThere, a, b]: ReturnType<typeof read>) => isThere && a === b;
      await eventually(read, isSame, WAIT_MS).catch(() => {
        const [isThere, ...both] = read();
        const worlds = all.map((each) => each.describe());
        throw new Error(
          `step ${step} (${isThere ? '' : 'not '}received):\n${[...both, ...worlds].join('\n\n')}`,
        );
      });
    }
  } finally {
    for (const each of all) each.close();
    direct.close();
    behind.close();
    scene.stop();
  }
}

async function serve(scene: RelayScene, world: ChangingWorld, step: number): Promise<void> {
  const input = world.serve(step);
  if (step % 8 === 5) {
    skipTime(LASTING_MS);
    void scene.controlPlane.close({ force: true });
    await scene.restartControlPlane(input);
  } else if (step % 8 === 1) {
    skipTime(LASTING_MS);
    void scene.relay.close({ force: true });
    scene.serve(input);
    await scene.startRelay();
  } else {
    scene.serve(input);
  }
}
