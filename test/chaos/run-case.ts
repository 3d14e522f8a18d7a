import { setTimeout as sleep } from 'node:timers/promises';
import type { BootstrapConfig } from '../../src';
import type { EchoBackend } from '../support/echo-backend';
import { bootstrapFor, SERVICE, type MeshResources } from '../support/mesh';
import { edsClusterJson, endpointsJson, listenerJson, routeConfigJson } from '../support/xds-json';
import type { ChaosCase, Move, Scene } from './chaos-case';
import type { ChaosClient, ClientProcess } from './client-process';
import { ChaosRelay } from './chaos-relay';
import { FaultyLink } from './faulty-link';
import { UnreliableServer } from './unreliable-server';

/** The variants of the protocol, each as the `server_features` that choose it. */
export const chaosVariants = { 'state of the world': [], incremental: ['grpc_xds_delta'] } as const;

/** The name of a variant. */
export type ChaosVariant = keyof typeof chaosVariants;

/** The names of the backends, in the order in which the service moves from one to the next. */
export const BACKENDS = ['before', 'calm', 'during', 'after'] as const;

/** What a case runs in. */
export interface ChaosSettings {
  readonly variant: ChaosVariant;
  readonly isShort: boolean;
  /** Whether a relay is between the client and the link. */
  readonly isRelayed: boolean;
  readonly clients: ClientProcess;
  readonly backends: readonly EchoBackend[];
}

/** What became of a case. */
export interface ChaosReport {
  readonly name: string;
  readonly variant: ChaosVariant;
  readonly calls: number;
  readonly failures: readonly string[];
  /** Milliseconds from the end of the fault until the first call is answered as was said after it. */
  readonly recoveryMs: number;
  /** As long as that may take. */
  readonly allowedMs: number;
  /** Share of a CPU that the clients used before the fault, and from then until it was over. */
  readonly cpu: { readonly calm: number; readonly fault: number };
  /** For which these are counted. */
  readonly faultSeconds: number;
  readonly connections: number;
  readonly streams: number;
  readonly requests: number;
  readonly rejections: number;
  /** Whether the client had something to reject. */
  readonly isRejected: boolean;
}

/** Nobody waits longer than that for anything to become good. */
const MAX_WAIT_MS = 120_000;
/** See `src/util/backoff.ts`: 1 s, and each step 1.6 times the one before, with a jitter of a fifth. */
const BACKOFF_MS = 1000;
const BACKOFF_FACTOR = 1.6;
const BACKOFF_JITTER = 0.2;

/** Runs a case from the first call to the last. */
export async function runCase(chaos: ChaosCase, settings: ChaosSettings): Promise<ChaosReport> {
  const stage = await Stage.start(chaos, settings);
  try {
    return await stage.run();
  } finally {
    stage.stop();
  }
}

/** A server, the link to it, and a client. */
class Stage {
  private readonly scene: Scene;
  private relay: ChaosRelay | undefined;

  private constructor(
    private readonly chaos: ChaosCase,
    private readonly settings: ChaosSettings,
    private readonly server: UnreliableServer,
    private readonly link: FaultyLink,
  ) {
    this.scene = {
      server,
      link,
      isDelta: settings.variant === 'incremental',
      serve: (move) => server.serve(this.resourcesOf(move)),
      jumpClock: (byMs) => settings.clients.jumpClock(byMs),
    };
  }

  static async start(chaos: ChaosCase, settings: ChaosSettings): Promise<Stage> {
    const server: UnreliableServer = new UnreliableServer(() => {
      link.sinceAnswer = 0;
    });
    await server.start();
    const link = new FaultyLink(server.port);
    await link.listen();
    return new Stage(chaos, settings, server, link);
  }

  stop(): void {
    this.relay?.stop();
    this.link.refuse();
    this.server.stop();
  }

  async run(): Promise<ChaosReport> {
    const { name } = this.chaos;
    const { variant, clients } = this.settings;
    this.scene.serve({ backend: 'before' });
    const client = await clients.open(await this.bootstrap(), `xds:///${SERVICE}`, 50);
    await client.untilAnsweredBy('before', MAX_WAIT_MS);
    const calm = await this.measureCalm(client);
    const before = this.counts();
    const cpu = await this.measureCpu();
    const startedAt = performance.now();
    await this.fault();
    const failedSteps = this.failedSteps((performance.now() - startedAt) / 1000);
    const recoveryMs = await this.recover(client);
    const faultSeconds = (performance.now() - startedAt) / 1000;
    const faultCpu = (await cpu()).share;
    const after = this.counts();
    const { calls, failures } = await client.close();
    return {
      name,
      variant,
      calls,
      failures,
      recoveryMs,
      faultSeconds,
      allowedMs: this.allowedMs(failedSteps, calm.updateMs),
      cpu: { calm: calm.cpu, fault: faultCpu },
      connections: after.connections - before.connections,
      streams: after.streams - before.streams,
      requests: after.requests - before.requests,
      rejections: after.rejections - before.rejections,
      isRejected: this.chaos.isRejected ?? false,
    };
  }

  /** @returns that of the client: of the relay, if there is one. */
  private async bootstrap(): Promise<BootstrapConfig> {
    const { variant, isRelayed } = this.settings;
    const features = [...chaosVariants[variant], ...(this.chaos.serverFeatures ?? [])];
    const bootstrap = bootstrapFor(this.link.address, features);
    if (!isRelayed) return bootstrap;
    this.relay = await ChaosRelay.start(bootstrap);
    return bootstrapFor(this.relay.address, features);
  }

  /** What calls cost, and how long an update takes, when all is well. */
  private async measureCalm(
    client: ChaosClient,
  ): Promise<{ readonly cpu: number; readonly updateMs: number }> {
    const cpu = await this.measureCpu();
    await sleep(this.settings.isShort ? 100 : 2000);
    const { share } = await cpu();
    const startedAt = performance.now();
    this.scene.serve({ backend: 'calm' });
    await client.untilAnsweredBy('calm', MAX_WAIT_MS);
    return { cpu: share, updateMs: performance.now() - startedAt };
  }

  /** @returns a function that says what share of a CPU has been used since. */
  private async measureCpu(): Promise<() => Promise<{ readonly share: number }>> {
    const { clients } = this.settings;
    const usedBefore = await clients.cpuMs();
    const startedAt = performance.now();
    return async () => {
      const usedMs = (await clients.cpuMs()) - usedBefore;
      return { share: usedMs / (performance.now() - startedAt) };
    };
  }

  private async fault(): Promise<void> {
    const { chaos, scene } = this;
    const seconds = this.settings.isShort ? (chaos.shortSeconds ?? chaos.seconds) : chaos.seconds;
    const endsAt = performance.now() + seconds * 1000;
    await chaos.begin(scene);
    for (let round = 0; chaos.meanwhile !== undefined && performance.now() < endsAt; round++) {
      await chaos.meanwhile.act(scene, round);
      await sleep(chaos.meanwhile.everyMs);
    }
    await sleep(Math.max(0, endsAt - performance.now()));
  }

  private async recover(client: ChaosClient): Promise<number> {
    await this.chaos.end(this.scene);
    const startedAt = performance.now();
    const { clustersAfter: clusters, unusedAfter: unused } = this.chaos;
    this.scene.serve({
      backend: 'after',
      ...(clusters && { clusters }),
      ...(unused && { unused }),
    });
    await client.untilAnsweredBy('after', MAX_WAIT_MS);
    return performance.now() - startedAt;
  }

  /** How many attempts in a row have failed at most. */
  private failedSteps(seconds: number): number {
    const seen = Math.max(this.link.sinceAnswer, this.server.sinceAnswer);
    let possible = 1;
    let elapsedMs = stepMs(0, -BACKOFF_JITTER);
    while (elapsedMs < seconds * 1000) elapsedMs += stepMs(possible++, -BACKOFF_JITTER);
    // Attempts that were refused were not seen.
    return this.link.isListening ? Math.min(Math.max(seen, 1), possible) : possible;
  }

  /** The backoff step that the client is in, and some time for the machine. */
  private allowedMs(failedSteps: number, updateMs: number): number {
    const { noticeMs = 0 } = this.chaos;
    // With all faults at once, clients wait for one another.
    const slackMs = this.settings.isShort ? 10_000 : 500;
    return noticeMs + stepMs(failedSteps - 1, BACKOFF_JITTER) + slackMs + 3 * updateMs;
  }

  private counts() {
    const { streams, requests, rejections } = this.server;
    return { connections: this.link.accepted, streams, requests, rejections };
  }

  private resourcesOf({
    backend,
    clusters = ['echo'],
    clusterExtra = {},
    unused = { backend, clusterExtra },
  }: Move): MeshResources {
    const portOf = (wanted: string) =>
      this.settings.backends.find(({ name }) => name === wanted)?.port ?? 0;
    const made = (cluster: string) =>
      clusters.includes(cluster) ? { backend, clusterExtra } : unused;
    const weighted = clusters.map((name) => ({ name, weight: 1 }));
    const route = { match: { prefix: '' }, route: { weighted_clusters: { clusters: weighted } } };
    return {
      listeners: [listenerJson(SERVICE)],
      routes: [routeConfigJson(`${SERVICE}-routes`, [route])],
      // The old one stays for those who have not heard of the new ones yet.
      clusters: [...new Set(['echo', ...clusters])].map((name) =>
        edsClusterJson(name, made(name).clusterExtra),
      ),
      endpoints: [...new Set(['echo', ...clusters])].map((name) =>
        endpointsJson(name, [{ zone: 'a', ports: [portOf(made(name).backend)] }]),
      ),
    };
  }
}

function stepMs(step: number, jitter: number): number {
  return BACKOFF_MS * BACKOFF_FACTOR ** step * (1 + jitter);
}
