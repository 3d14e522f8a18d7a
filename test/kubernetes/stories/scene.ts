import type { ClientReport } from '../children/messages';
import { CallingClient } from '../workload/calling-client';
import { bootstrapOf, ControlPlaneProcess } from '../workload/control-plane';
import { Deployment } from '../workload/deployment';
import { latenciesOf, quantile } from '../workload/latencies';
import type { StoryContext, StoryResult } from './story';

/** A change is in use at a client within this time of the answer to its write (p99). */
const MAX_P99_MS = 100;
const TOKEN_AUDIENCE = 'https://kubernetes.default.svc';

/** How control planes are started. */
export interface ControlPlanesOptions {
  /** How many. Default: one. */
  readonly controlPlanes?: number;
  /** The port by which they reach the API server. Default: its own. */
  readonly apiPort?: number;
  /** Their arguments besides addresses. Default: they are used without credentials. */
  readonly args?: readonly string[];
}

/** How a scene is set. */
export interface SceneOptions extends ControlPlanesOptions {
  /** Of the service. */
  readonly name: string;
  readonly pods: number;
  readonly callsPerSecond: number;
  /** What the client has in its bootstrap. Default: the control planes, in their order. */
  readonly addresses?: (
    controlPlanes: readonly ControlPlaneProcess[],
  ) => Promise<readonly string[]>;
  /** Whether calls may fail; they are counted. Default: none may. */
  readonly mayCallsFail?: boolean;
  /** Makes the bootstrap of addresses. Default: without credentials. */
  readonly bootstrap?: (addresses: readonly string[]) => object;
  /** Whether it matters how long changes take. Default: in the long form, which is not for a busy machine. */
  readonly isTimeJudged?: boolean;
}

/** Starts control planes with the rights of the manifests, and waits until they are ready. */
export async function startControlPlanes(
  { cluster, account }: StoryContext,
  { controlPlanes: count = 1, apiPort: port, args }: ControlPlanesOptions,
): Promise<readonly ControlPlaneProcess[]> {
  const token = await cluster.api.token(account, TOKEN_AUDIENCE);
  const kubeconfig = cluster.kubeconfig({ token, ...(port !== undefined && { port }) });
  const options = { kubeconfig, ...(args !== undefined && { args }) };
  const all = Array.from({ length: count }, () => new ControlPlaneProcess(cluster, options));
  await Promise.all(all.map((one) => one.start()));
  return all;
}

/** What is judged of a scene. */
interface Judged {
  readonly time: boolean;
  readonly calls: boolean;
}

/** A service with pods, control planes, and a client that calls. */
export class Scene {
  private constructor(
    readonly deployment: Deployment,
    readonly controlPlanes: readonly ControlPlaneProcess[],
    readonly client: CallingClient,
    private readonly judged: Judged,
  ) {}

  static async start(context: StoryContext, options: SceneOptions): Promise<Scene> {
    const { name, pods, callsPerSecond } = options;
    const { isTimeJudged = !context.isShort, mayCallsFail = false } = options;
    const judged = { time: isTimeJudged, calls: !mayCallsFail };
    const { api } = context.cluster;
    const deployment = new Deployment(api, name);
    const [controlPlanes] = await Promise.all([
      startControlPlanes(context, options),
      deployment.start(pods),
    ]);
    const addresses =
      (await options.addresses?.(controlPlanes)) ?? controlPlanes.map((one) => one.address);
    const bootstrap = options.bootstrap?.(addresses) ?? bootstrapOf(addresses, { id: name });
    const { target } = deployment;
    const client = CallingClient.start({ target, bootstrap, callsPerSecond });
    const scene = new Scene(deployment, controlPlanes, client, judged);
    try {
      await client.untilUsed(deployment.endpoints);
    } catch (error) {
      await scene.stop();
      throw error;
    }
    return scene;
  }

  /** Waits until the client has in use what was written last. */
  untilInUse(timeoutMs?: number): Promise<ClientReport> {
    return this.client.untilUsed(this.deployment.endpoints, timeoutMs);
  }

  /** Ends the scene. @returns what became of the calls, and of the writes since `firstWrite`. */
  async finish(firstWrite = 0): Promise<StoryResult> {
    try {
      const report = await this.client.stop();
      const writes = this.deployment.writes.slice(firstWrite);
      const { ms, missing } = latenciesOf(writes, this.client.observations);
      const p99 = quantile(ms, 0.99) ?? 0;
      return {
        facts: [...describeCalls(report), ...describeLatencies(ms)],
        misses: [
          ...(this.judged.calls ? describeFailures(report) : []),
          ...(missing.length > 0 ? [`${missing.length} changes were never in use`] : []),
          ...(this.judged.time && p99 > MAX_P99_MS ? [`p99 is above ${MAX_P99_MS} ms`] : []),
        ],
      };
    } finally {
      await this.stop();
    }
  }

  async stop(): Promise<void> {
    this.client.kill();
    await this.deployment.delete();
    await Promise.all(this.controlPlanes.map((one) => one.kill()));
  }
}

function describeCalls({ calls, failed }: ClientReport): readonly string[] {
  return [`${calls} calls, ${failed} failed`];
}

function describeFailures({ failures }: ClientReport): readonly string[] {
  return Object.entries(failures).map(([text, count]) => `${count} × ${text}`);
}

function describeLatencies(ms: readonly number[]): readonly string[] {
  if (ms.length === 0) return [];
  const at = (share: number) => `${(quantile(ms, share) ?? 0).toFixed(1)} ms`;
  return [
    `${ms.length} changes in use after ${at(0.5)} (p50), ${at(0.99)} (p99), ${at(1)} (slowest)`,
  ];
}

/** What came of that which happened in a scene. */
export interface ActResult {
  readonly facts: readonly string[];
  /** The index of the first write that is measured. Default: all are. */
  readonly firstWrite?: number;
}

/** Runs what happens in a scene, and ends the scene whether it succeeds or not. */
export async function inScene(
  context: StoryContext,
  options: SceneOptions,
  act: (scene: Scene) => Promise<ActResult>,
): Promise<StoryResult> {
  const scene = await Scene.start(context, options);
  try {
    const { facts, firstWrite } = await act(scene);
    await scene.untilInUse();
    const result = await scene.finish(firstWrite);
    return { facts: [...facts, ...result.facts], misses: result.misses };
  } finally {
    await scene.stop();
  }
}
