import { setTimeout as sleep } from 'node:timers/promises';
import { FaultyLink } from '../../chaos/faulty-link';
import { API_PORT } from '../cluster/test-cluster';
import { inScene, type Scene } from './scene';
import type { Story, StoryContext } from './story';

/** The API is back within this time: the longest pause of a watch between two attempts, and its jitter. */
const MAX_RECOVERY_MS = 40_000;

/** How large the scenes of outages are. */
function sizeOf({ isShort }: StoryContext) {
  return { pods: isShort ? 4 : 20, callsPerSecond: isShort ? 300 : 1000 };
}

/** How long the API is away. */
function outageMs({ isShort }: StoryContext): number {
  return isShort ? 1000 : 10_000;
}

/**
 * Replaces pods after an outage. The first change waits for the next attempt of the control plane, and is measured apart.
 * @returns how long the first one took, and from which write the others are.
 */
async function recover(scene: Scene): Promise<{ facts: readonly string[]; firstWrite: number }> {
  const { deployment } = scene;
  const startedMs = performance.now();
  await deployment.roll({ maxSurge: 1, preStopMs: 0, count: 1 });
  await scene.untilInUse(MAX_RECOVERY_MS);
  const recoveredMs = performance.now() - startedMs;
  const firstWrite = deployment.writes.length;
  await deployment.roll({ maxSurge: 5, preStopMs: 500 });
  return { facts: [`recovered within ${(recoveredMs / 1000).toFixed(1)} s`], firstWrite };
}

export const apiServerKilled: Story = {
  name: 'API server killed and restarted',
  isInShortForm: true,
  run(context) {
    const { cluster } = context;
    return inScene(context, { name: 'api-killed', ...sizeOf(context) }, async (scene) => {
      await cluster.killApiServer();
      await sleep(outageMs(context));
      await cluster.startApiServer();
      return recover(scene);
    });
  },
};

export const etcdKilled: Story = {
  name: 'etcd killed and restarted',
  isInShortForm: false,
  run(context) {
    const { cluster } = context;
    return inScene(context, { name: 'etcd-killed', ...sizeOf(context) }, async (scene) => {
      await cluster.killEtcd();
      await sleep(outageMs(context));
      cluster.startEtcd();
      await cluster.untilReady();
      return recover(scene);
    });
  },
};

/** While the control plane has no connection, the history that it would resume from is removed. */
export const compacted: Story = {
  name: 'etcd compacted (410 Gone)',
  isInShortForm: true,
  async run(context) {
    const { cluster, isShort } = context;
    const link = new FaultyLink(API_PORT);
    await link.listen();
    const apiPort = Number(link.address.split(':')[1]);
    const options = { name: 'compacted', ...sizeOf(context), apiPort };
    return inScene(context, options, async (scene) => {
      const { deployment } = scene;
      const { metadata } = await cluster.api.read(deployment.slice());
      link.refuse();
      // The pods of the short form change nothing but the slice.
      if (isShort) await deployment.write();
      else await deployment.roll({ maxSurge: 2, preStopMs: 500, count: 2 });
      await cluster.compact();
      // The API server keeps a history of its own, which ends with it.
      await cluster.killApiServer();
      await cluster.startApiServer();
      await demandGone(context, metadata.resourceVersion ?? '');
      await link.listen();
      return recover(scene);
    }).finally(() => link.refuse());
  },
};

/** Fails unless a watch from a version is refused. */
async function demandGone({ cluster }: StoryContext, version: string): Promise<void> {
  const query = `watch=true&resourceVersion=${version}&timeoutSeconds=1`;
  const path = `/apis/discovery.k8s.io/v1/endpointslices?${query}`;
  const first = await cluster.api.send<{ object: { code?: number } }>('GET', path).then(
    (event) => event.object.code,
    (error: { status?: number }) => error.status,
  );
  if (first !== 410) throw new Error(`the version ${version} is still there: ${first}`);
}
