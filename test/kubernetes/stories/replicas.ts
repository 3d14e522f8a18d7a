import { setTimeout as sleep } from 'node:timers/promises';
import { inScene, type Scene } from './scene';
import type { Story } from './story';

/** Kills one control plane after the other while pods are replaced, and starts each again. */
async function killInTurn({ controlPlanes, deployment }: Scene, kills: number, everyMs: number) {
  let isKilling = true;
  const rolls = (async () => {
    while (isKilling) await deployment.roll({ maxSurge: 1, preStopMs: 500 });
  })();
  for (let i = 0; i < kills; i++) {
    const victim = controlPlanes[i % controlPlanes.length];
    await victim?.kill();
    await victim?.start();
    await sleep(everyMs);
  }
  isKilling = false;
  await rolls;
  return { facts: [`a control plane killed ${kills} times`] };
}

/** The client has both in its bootstrap (gRFC A71). */
export const replicaKilled: Story = {
  name: 'replica of the control plane killed',
  isInShortForm: true,
  run(context) {
    const { isShort } = context;
    const options = {
      ...{ name: 'replicas', pods: isShort ? 3 : 20, controlPlanes: 2 },
      callsPerSecond: isShort ? 300 : 1000,
    };
    return inScene(context, options, (scene) =>
      killInTurn(scene, isShort ? 2 : 10, isShort ? 2000 : 10_000),
    );
  },
};
