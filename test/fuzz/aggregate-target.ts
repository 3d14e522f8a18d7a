import {
  XdsDependencyManager,
  type DependencyManagerOptions,
} from '../../src/dependency-manager/dependency-manager';
import { FakeClock } from '../support/fake-clock';
import { TimeSlices } from '../../src/util/time-slices';
import type { XdsConfig } from '../../src/dependency-manager/xds-config';
import type { ClusterResource } from '../../src/resources/cluster/cluster';
import type { Handle } from '../../src/util/handle';
import { silentLogger } from '../../src/util/logger';
import { ok, type Result } from '../../src/util/result';
import type { Random } from '../../src/util/random';
import { FakeResourceSource, fakeTypes, withMessage } from '../support/fake-resource-source';
import {
  aggregateCluster,
  dnsCluster,
  edsCluster,
  endpoints,
  inlineListener,
  route,
  forwardTo,
  routeConfig,
  virtualHost,
  xdsError,
} from '../support/xds-builders';
import { describeConfig, expectedConfig } from './cluster-graph-reference';
import { ClusterGraphs, parseGraphs, type ClusterGraph, type ClusterSpec } from './cluster-graphs';
import type { FuzzTarget } from './targets';

/** Says that a walk would take more steps than one config may: the reference has no such bound. */
const TOO_MANY_STEPS = 'counted once per path';
/** Says that a path is longer than 16 clusters. */
const TOO_DEEP = 'clusters deep';
/** The end of what is logged of an aggregate that exceeds a limit, which is no bug. */
const STAYS = 'stay in use';
/** Enough for any of the graphs. */
const MANY_CLUSTERS = 10_000;
/** Too few for many of them. */
const FEW_CLUSTERS = 20;

/** A target whose control plane is the test. */
class World {
  readonly clock = new FakeClock();
  readonly source = new FakeResourceSource();
  readonly errors: string[] = [];
  updates = 0;
  last: Result<XdsConfig, string> | undefined;
  dnsWatches = 0;
  private served: ReadonlyMap<string, ClusterSpec> = new Map();
  private readonly resources = new Map<string, ClusterResource>();
  private holds: readonly Handle[] = [];
  readonly manager: XdsDependencyManager;

  constructor(maxClustersPerTarget: number) {
    this.manager = new XdsDependencyManager({
      source: this.source,
      types: fakeTypes,
      dns: this.dns,
      listenerName: 'svc',
      host: 'svc',
      clientNote: 'note',
      limits: { maxClustersPerTarget },
      logger: { ...silentLogger, error: (text) => this.errors.push(text()) },
      clock: this.clock,
      timeSlices: new TimeSlices(this.clock),
      onUpdate: (update) => {
        this.updates++;
        this.last = withMessage(update);
      },
    });
    this.manager.start();
  }

  /** Serves everything that is different from before as one response of each type would. */
  serve({ roots, held, clusters }: ClusterGraph): void {
    this.source.run(() => {
      const routes = roots.map((name) => route(forwardTo(name)));
      const config = routeConfig('routes', virtualHost(routes));
      this.source.serve(fakeTypes.listener, 'svc', inlineListener('svc', config));
      for (const [name, spec] of clusters) {
        if (String(this.served.get(name)) !== String(spec)) this.serveCluster(name, spec);
      }
      for (const name of this.served.keys()) {
        if (!clusters.has(name)) this.serveCluster(name, 'missing');
      }
      const before = this.holds;
      this.holds = held.map((name) => this.manager.subscribeCluster(name));
      for (const hold of before) hold.release();
    });
    this.served = new Map([...this.served, ...clusters]);
    this.settle();
  }

  /** Serves a cluster again as it is. */
  repeat(name: string): void {
    const resource = this.resources.get(name);
    if (resource !== undefined) this.source.serve(fakeTypes.cluster, name, resource);
    this.settle();
  }

  /** Ends everything. @returns how many watches are left. */
  close(): number {
    this.manager.close();
    this.settle();
    return this.source.watchCount + this.dnsWatches;
  }

  /** Takes all turns that are due: a large target starts watches, and publishes, in several. */
  private settle(): void {
    while (this.clock.pendingTimers > 0) this.clock.advance(1);
  }

  private serveCluster(name: string, spec: ClusterSpec): void {
    const resource = toResource(name, spec);
    if (resource === undefined) {
      this.resources.delete(name);
      this.source.fail(fakeTypes.cluster, name, xdsError(`no ${name}`));
      return;
    }
    this.resources.set(name, resource);
    this.source.serve(fakeTypes.cluster, name, resource);
    if (spec === 'eds') this.source.serve(fakeTypes.endpoints, name, endpoints(name, '10.0.0.1'));
  }

  private get dns(): DependencyManagerOptions['dns'] {
    return {
      start: ({ host }, onResult) => {
        this.dnsWatches++;
        onResult(ok(endpoints(host, '10.0.0.2')));
        return { release: () => (this.dnsWatches -= 1), requestReresolution: () => undefined };
      },
    };
  }
}

function toResource(name: string, spec: ClusterSpec): ClusterResource | undefined {
  switch (spec) {
    case 'missing':
      return undefined;
    case 'eds':
      return edsCluster(name);
    case 'dns':
      return dnsCluster(name, `${name}.test`, 80);
    default:
      return aggregateCluster(name, ...spec);
  }
}

/**
 * Sequences of graphs of clusters for the dependency manager (gRFCs A37, A74): cycles, paths as long as they may be and
 * longer, shared clusters, missing ones, ones that never arrive.
 */
export function createAggregateTarget(random: Random): FuzzTarget {
  const graphs = new ClusterGraphs(random);
  return {
    name: 'aggregate clusters',
    share: 2,
    maxMsPerKiB: 10,
    make: () => graphs.make(),
    run(input) {
      const sequence = parseGraphs(Buffer.from(input).toString());
      return checkConfigs(sequence) ?? checkLimit(sequence);
    },
  };
}

/** Compares each config with the one that a plain walk comes to. */
function checkConfigs(sequence: readonly ClusterGraph[]): string | undefined {
  const world = new World(MANY_CLUSTERS);
  const known = new Map<string, ClusterSpec>();
  for (const [index, graph] of sequence.entries()) {
    for (const name of known.keys()) known.set(name, 'missing');
    for (const [name, spec] of graph.clusters) known.set(name, spec);
    const isInUse = world.last?.ok === true;
    world.serve(graph);
    const expected = expectedConfig({ ...graph, clusters: known });
    // Of an incomplete graph, a part is in use: which one depends on the config before.
    if (expected === undefined) continue;
    // An aggregate that exceeds the depth keeps its last leaves: from here on, a walk alone does not tell the config.
    if (isInUse && expected.includes(TOO_DEEP)) break;
    const found = world.last?.ok === true ? describeConfig(world.last.value) : undefined;
    if (found?.includes(TOO_MANY_STEPS) === true) break;
    if (found !== expected) return `graph ${index} comes to\n${found}\ninstead of\n${expected}`;
    const { updates } = world;
    world.repeat(graph.roots[0] ?? '');
    if (world.updates !== updates) return `graph ${index} is published again`;
  }
  return finish(world);
}

/** Where fewer clusters may be watched, no more are, with those that aggregates keep, and nothing else is promised. */
function checkLimit(sequence: readonly ClusterGraph[]): string | undefined {
  const world = new World(FEW_CLUSTERS);
  for (const graph of sequence) {
    world.serve(graph);
    const atMost = 2 * FEW_CLUSTERS + graph.held.length;
    const { size } = world.last?.ok === true ? world.last.value.clusters : new Map();
    if (size > atMost) return `a config has ${size} clusters`;
    const watched = new Set(world.source.watched(fakeTypes.cluster));
    // Those of the last config stay while the next one is incomplete.
    if (watched.size > 2 * atMost) return `${watched.size} clusters are watched`;
  }
  return finish(world);
}

function finish(world: World): string | undefined {
  const left = world.close();
  if (left > 0) return `${left} watches are left`;
  return world.errors.find((error) => !error.endsWith(STAYS));
}
