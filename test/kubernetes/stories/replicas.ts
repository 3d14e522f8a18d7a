import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceAddress } from '../workload/service-address';
import { inScene, type ActResult, type Scene, type SceneOptions } from './scene';
import type { Story, StoryContext } from './story';

/** Kills one control plane after the other while pods are replaced, and starts each again. */
async function killInTurn(scene: Scene, isShort: boolean): Promise<ActResult> {
  const { controlPlanes, deployment } = scene;
  const kills = isShort ? 2 : 10;
  let isKilling = true;
  const rolls = (async () => {
    while (isKilling) await deployment.roll({ maxSurge: 1, preStopMs: 500 });
  })();
  for (let i = 0; i < kills; i++) {
    const victim = controlPlanes[i % controlPlanes.length];
    await Promise.all([victim?.kill().then(() => victim.start()), sleep(isShort ? 1500 : 10_000)]);
  }
  isKilling = false;
  await rolls;
  return { facts: [`a control plane killed ${kills} times`] };
}

function sizeOf({ isShort }: StoryContext): Omit<SceneOptions, 'name'> {
  return {
    pods: isShort ? 3 : 20,
    controlPlanes: 2,
    callsPerSecond: isShort ? 300 : 1000,
  };
}

/** Clients have one address for both, as that of a Service. */
export const replicaKilled: Story = {
  name: 'replica of the control plane killed',
  isInShortForm: true,
  async run(context) {
    let address: ServiceAddress | undefined;
    const options: SceneOptions = {
      name: 'replicas',
      ...sizeOf(context),
      addresses: async (controlPlanes) => {
        address = await ServiceAddress.listen(controlPlanes.map(({ port }) => port));
        return [String(address)];
      },
    };
    return inScene(context, options, (scene) => killInTurn(scene, context.isShort)).finally(() =>
      address?.close(),
    );
  },
};

/**
 * Clients have both in their bootstrap. They use the first one; while it is away they keep what they have, since no resource is missing
 * (gRFC A71), so that changes are in use when it is back.
 */
export const fallbackKilled: Story = {
  name: 'replica killed that has a fallback',
  isInShortForm: false,
  run(context) {
    const options = { name: 'fallback', ...sizeOf(context), isTimeJudged: false };
    return inScene(context, options, (scene) => killInTurn(scene, context.isShort));
  },
};
