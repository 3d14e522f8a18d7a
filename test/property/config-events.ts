import { isDeepStrictEqual } from 'node:util';
import {
  changedClusters,
  type BuiltXdsConfig,
} from '../../src/dependency-manager/build-xds-config';
import { waiting, type WatchReport } from '../../src/dependency-manager/observations';
import type { ClusterResult, XdsConfig } from '../../src/dependency-manager/xds-config';
import type { ClusterResource } from '../../src/resources/cluster/cluster';
import type { EndpointsResource } from '../../src/resources/endpoints/endpoints';
import {
  ConfigWorld,
  describeConfig,
  failure,
  fullWalk,
  outcomeOf,
  value,
  type Outcome,
  type WalkResult,
} from '../support/config-world';
import { seededRandom } from '../support/seeded-random';
import {
  aggregateCluster,
  dnsCluster,
  edsCluster,
  endpoints,
  forwardTo,
  listener,
  route,
  virtualHost,
} from '../support/xds-builders';

const CLUSTERS = ['c0', 'c1', 'c2', 'c3', 'c4', 'c5'];
const SERVICES = ['s0', 's1', 's2'];
const HOSTS = ['h0', 'h1'];
/** Some that match the target, and some that do not. */
const DOMAINS = ['*', 'svc', 's*', 'sv*', '*c', 'SVC', 'other', 'x*'];

/**
 * Whether the config needs all that the walk has found, and every cluster that has a result is in use with it. A cluster to
 * which the latest routes do not refer may keep the result it had, if the new one would fail its calls.
 */
function usesWhatIsThere(built: BuiltXdsConfig, walk: WalkResult): boolean {
  const { needed, config } = built;
  const isWatched = (['routeConfigs', 'clusters', 'endpoints', 'dns'] as const).every((kind) =>
    [...walk.needed[kind].keys()].every((name) => needed[kind].has(name)),
  );
  if (!isWatched || config?.ok === false) return false;
  if (config === undefined) return true;
  const { clusters } = config.value;
  return [...walk.built].every(([name, result]) => {
    if (result.ok && result.value.children.kind === 'aggregate') return true;
    const inUse = clusters.get(name);
    const mayBeKept = !walk.routed.has(name) && !isUsable(result) && isUsable(inUse);
    return mayBeKept || isDeepStrictEqual(inUse, result);
  });
}

function isUsable(result: ClusterResult | undefined): boolean {
  if (result?.ok !== true) return false;
  const { children } = result.value;
  return children.kind === 'aggregate' || children.endpoints !== undefined;
}

/** Plays random events, and compares the config that is built after each with that of a full walk. */
export class ConfigEvents {
  /** The kinds of outcome there were. */
  readonly outcomes = new Set<Outcome['kind']>();
  private readonly world = ConfigWorld.of(...CLUSTERS.slice(0, 3));
  private readonly random: () => number;
  private latest: XdsConfig | undefined;
  private serial = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
    for (const name of CLUSTERS) this.world.setCluster(name, this.cluster(name));
    for (const name of SERVICES) this.world.setEndpoints(name, this.endpoints());
    for (const name of HOSTS) this.world.setDns(`${name}:80`, this.endpoints());
  }

  /** Plays one or more events, and builds the config. @returns what differs; `undefined` if nothing does. */
  step(): string | undefined {
    do this.edit();
    while (this.random() < 0.4);
    const built = this.world.build();
    const outcome = outcomeOf(built);
    this.outcomes.add(outcome.kind);
    const walk = fullWalk(this.world);
    const isSame =
      walk.outcome.kind === 'incomplete'
        ? usesWhatIsThere(built, walk)
        : isDeepStrictEqual(
            describeConfig({ needed: built.needed, outcome }),
            describeConfig(walk),
          );
    if (!isSame) return 'the config differs from that of the full walk';
    if (this.world.build().latest !== built.latest)
      return 'the same reports lead to another config';
    if (outcome.kind !== 'config') return undefined;
    const before = this.latest?.clusters;
    this.latest = outcome.config;
    const isExact = isDeepStrictEqual(
      [...changedClusters(before, outcome.config.clusters)].sort(),
      differences(before ?? new Map(), outcome.config.clusters),
    );
    return isExact ? undefined : 'the clusters said to have changed are not those that did';
  }

  private edit(): void {
    const { world } = this;
    const dice = this.random();
    if (dice < 0.4) world.setEndpoints(this.oneOf(SERVICES), this.endpoints());
    else if (dice < 0.55) world.setDns(`${this.oneOf(HOSTS)}:80`, this.endpoints());
    else if (dice < 0.9) {
      const name = this.oneOf(CLUSTERS);
      world.setCluster(name, this.cluster(name));
    } else this.editRoots();
  }

  private editRoots(): void {
    const { world } = this;
    const dice = this.random();
    if (dice < 0.3) {
      this.editHosts();
      return;
    }
    if (dice < 0.5) world.subscribed = this.some(CLUSTERS);
    else if (dice < 0.8) world.routeTo([this.oneOf(CLUSTERS), ...this.some(CLUSTERS)]);
    else if (dice < 0.9) world.listener = value(listener('svc'), this.maybe('stale'));
    else world.listener = this.oneOf([failure('no listener'), waiting, value(listener('svc'))]);
  }

  /** Adds and removes virtual hosts, and swaps two: only those that serve the target concern it. */
  private editHosts(): void {
    const { routes } = this.world;
    const hosts = routes.kind === 'value' ? [...routes.value.virtualHosts] : [];
    if (this.random() < 0.5 && hosts.length > 1)
      hosts.splice(Math.floor(this.random() * hosts.length), 1);
    while (this.random() < 0.6) {
      const at = Math.floor(this.random() * (hosts.length + 1));
      const name = `host-${this.serial++ % 7}`;
      const domains = [this.oneOf(DOMAINS), `${name}.test`];
      const action = forwardTo(this.oneOf(CLUSTERS));
      // Names are unique, as the decoder sees to it.
      if (hosts.every((host) => host.name !== name))
        hosts.splice(at, 0, virtualHost([route(action)], { name, domains }));
    }
    this.world.setHosts(...hosts);
  }

  private cluster(name: string): WatchReport<ClusterResource> {
    const dice = this.random();
    if (dice < 0.07) return waiting;
    if (dice < 0.15) return failure(`no ${name} ${this.serial++}`);
    const ambient = this.maybe(`${name} is stale`);
    if (dice < 0.6) return value(edsCluster(name, this.oneOf(SERVICES)), ambient);
    if (dice < 0.75) return value(dnsCluster(name, this.oneOf(HOSTS), 80), ambient);
    return value(aggregateCluster(name, ...this.some(CLUSTERS)), ambient);
  }

  private endpoints(): WatchReport<EndpointsResource> {
    const dice = this.random();
    if (dice < 0.07) return waiting;
    if (dice < 0.2) return failure(`no endpoints ${this.serial++}`);
    const address = `127.0.${this.serial >> 8}.${this.serial++ & 255}`;
    return value(endpoints('e', address), this.maybe('endpoints are stale'));
  }

  private maybe(text: string): string | undefined {
    return this.random() < 0.2 ? text : undefined;
  }

  private some<T>(list: readonly T[]): readonly T[] {
    return list.filter(() => this.random() < 0.3);
  }

  private oneOf<T>(list: readonly T[]): T {
    const item = list[Math.floor(this.random() * list.length)];
    if (item === undefined) throw new Error('There is nothing to choose from');
    return item;
  }
}

/** The names under which two configs have different objects, sorted. */
function differences(
  before: ReadonlyMap<string, ClusterResult>,
  after: ReadonlyMap<string, ClusterResult>,
): readonly string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => before.get(name) !== after.get(name)).sort();
}
