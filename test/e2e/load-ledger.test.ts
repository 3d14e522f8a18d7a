import { status } from '@grpc/grpc-js';
import { inspect } from '../../src';
import type { ClusterLoad, LoadReport } from '../../src/control-plane';
import { eventually } from '../support/eventually';
import { Mesh, SERVICE, type MeshResources } from '../support/mesh';
import { ObedientBackend, ObedientClient, type Request } from '../support/obedient-backend';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
  type Json,
} from '../support/xds-json';

// Every call is written down twice: by the test that makes it, knowing what becomes of it, and by the control plane,
// which is told in load reports. In the end both books must say the same.

jest.setTimeout(120_000);

const INTERVAL_MS = 100;
const TO_TWO = { cluster: 'two' };

/** What there is to serve; anything left out is as in the first configuration. */
interface Config {
  /** Whether cluster `one` has its second locality. */
  readonly hasZoneB?: boolean;
  /** The EDS service name of cluster `two`; `undefined`: there is no such cluster. */
  readonly serviceName?: string | undefined;
  readonly drops?: readonly Json[];
  readonly maxRequests?: number;
}

/** Calls by `cluster/service zone kind`, and drops by `cluster category`; counts of zero are left out. */
type Book = Readonly<Record<string, number>>;

class Scene {
  private readonly reports: LoadReport[] = [];
  private readonly expected = new Map<string, number>();
  readonly zones: Readonly<Record<'a' | 'b' | 'c', ObedientBackend>>;

  private constructor(
    readonly mesh: Mesh,
    backends: readonly [ObedientBackend, ObedientBackend, ObedientBackend],
    reports: LoadReport[],
  ) {
    const [a, b, c] = backends;
    this.zones = { a, b, c };
    this.reports = reports;
  }

  static async start(): Promise<Scene> {
    const reports: LoadReport[] = [];
    const mesh = await Mesh.startWith({
      loadReporting: { intervalMs: INTERVAL_MS },
      onLoadReport: (_client, report) => reports.push(report),
    });
    const load = (cpuUtilization: number) =>
      ObedientBackend.start({ cpuUtilization, namedMetrics: new Map([['queue', 2]]) });
    return new Scene(mesh, [await load(0.5), await load(0.25), await load(0.125)], reports);
  }

  serve(config: Config = {}): void {
    this.mesh.serve(this.resources(config));
  }

  resources({ hasZoneB = true, drops, maxRequests, ...two }: Config): MeshResources {
    const serviceName = 'serviceName' in two ? two.serviceName : 'two-eds';
    const { a, b, c } = this.zones;
    const toTwo = {
      match: { prefix: '', headers: [{ name: 'cluster', string_match: { exact: 'two' } }] },
      route: { cluster: 'two' },
    };
    const localities = [{ zone: 'a', ports: [a.port] }];
    if (hasZoneB) localities.push({ zone: 'b', ports: [b.port] });
    const reporting = {
      lrs_server: { self: {} },
      lrs_report_endpoint_metrics: ['cpu_utilization', 'named_metrics.queue'],
    };
    const limit = { circuit_breakers: { thresholds: [{ max_requests: maxRequests }] } };
    const one = edsClusterJson(
      'one',
      maxRequests === undefined ? reporting : { ...reporting, ...limit },
    );
    const oneEndpoints = {
      ...endpointsJson('one', localities),
      policy: { drop_overloads: drops ?? [] },
    };
    const hasTwo = serviceName !== undefined;
    const eds = { eds_config: { ads: {} }, service_name: serviceName };
    const second = edsClusterJson('two', { ...reporting, eds_cluster_config: eds });
    return {
      listeners: [listenerJson(SERVICE)],
      routes: [
        routeConfigJson(`${SERVICE}-routes`, [...(hasTwo ? [toTwo] : []), routeToCluster('one')]),
      ],
      clusters: hasTwo ? [one, second] : [one],
      endpoints: hasTwo
        ? [oneEndpoints, endpointsJson(serviceName, [{ zone: 'c', ports: [c.port] }])]
        : [oneEndpoints],
    };
  }

  /** Writes down what becomes of calls. */
  note(what: string, count: number): void {
    this.expected.set(what, (this.expected.get(what) ?? 0) + count);
  }

  /** Makes calls to cluster `one` and writes down where they went; the backends know. */
  async callOne(client: ObedientClient, count: number, request: Exclude<Request, 'hold'>) {
    const { a, b } = this.zones;
    const before = [a.calls, b.calls] as const;
    const outcomes = await client.calls(count, request);
    const code = request === 'ok' ? status.OK : status.ABORTED;
    expect(outcomes.map((outcome) => outcome.code)).toEqual(Array(count).fill(code));
    const kind = request === 'ok' ? 'succeeded' : 'failed';
    this.noteFinished('one', 'a', kind, a.calls - before[0]);
    this.noteFinished('one', 'b', kind, b.calls - before[1]);
  }

  /** Makes calls to cluster `two`. */
  async callTwo(client: ObedientClient, count: number, serviceName: string) {
    const outcomes = await client.calls(count, 'ok', TO_TWO);
    expect(outcomes.map((outcome) => outcome.code)).toEqual(Array(count).fill(status.OK));
    this.noteFinished(`two/${serviceName}`, 'c', 'succeeded', count);
  }

  noteFinished(
    cluster: string,
    zone: 'a' | 'b' | 'c',
    kind: 'succeeded' | 'failed',
    count: number,
  ) {
    this.note(`${cluster} ${zone} issued`, count);
    this.note(`${cluster} ${zone} ${kind}`, count);
    this.noteMetrics(cluster, zone, count);
  }

  noteMetrics(cluster: string, zone: 'a' | 'b' | 'c', count: number) {
    const cpu = { a: 0.5, b: 0.25, c: 0.125 }[zone];
    this.note(`${cluster} ${zone} cpu_utilization calls`, count);
    this.note(`${cluster} ${zone} cpu_utilization`, cpu * count);
    this.note(`${cluster} ${zone} named_metrics.queue calls`, count);
    this.note(`${cluster} ${zone} named_metrics.queue`, 2 * count);
  }

  /** What the test knows. */
  get truth(): Book {
    return toBook(this.expected);
  }

  /** What the control plane was told. */
  get reported(): Book {
    const sums = new Map<string, number>();
    for (const { clusters } of this.reports) for (const load of clusters) addLoad(sums, load);
    return toBook(sums);
  }

  /** Calls in progress by the last report of each cluster. */
  get inProgress(): Readonly<Record<string, number>> {
    const last = new Map<string, number>();
    for (const { cluster, localities } of this.reports.flatMap(({ clusters }) => clusters)) {
      for (const { zone, inProgress } of localities) last.set(`${cluster} ${zone}`, inProgress);
    }
    return toBook(last);
  }

  /** Waits until the books agree; then nothing is on its way. */
  async settle(): Promise<void> {
    const truth = JSON.stringify(this.truth);
    await eventually(
      () => this.reported,
      (reported) => JSON.stringify(reported) === truth,
      60_000,
    ).catch(() => undefined);
    expect(this.reported).toEqual(this.truth);
  }

  stop(): void {
    for (const backend of Object.values(this.zones)) backend.stop();
    this.mesh.stop();
  }
}

function addLoad(sums: Map<string, number>, load: ClusterLoad): void {
  const add = (what: string, count: number) => sums.set(what, (sums.get(what) ?? 0) + count);
  const name = load.serviceName === '' ? load.cluster : `${load.cluster}/${load.serviceName}`;
  add(`${name} dropped`, load.totalDropped);
  for (const [category, count] of load.droppedByCategory) add(`${name} dropped ${category}`, count);
  for (const locality of load.localities) {
    const place = `${name} ${locality.zone}`;
    add(`${place} issued`, locality.issued);
    add(`${place} succeeded`, locality.succeeded);
    add(`${place} failed`, locality.failed);
    for (const [metric, { calls, total }] of locality.metrics) {
      add(`${place} ${metric} calls`, calls);
      add(`${place} ${metric}`, total);
    }
  }
}

function toBook(counts: ReadonlyMap<string, number>): Book {
  const entries = [...counts].filter(([, count]) => count !== 0);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

describe('the sum of all load reports', () => {
  let scene: Scene;
  const clients: ObedientClient[] = [];
  beforeEach(async () => {
    scene = await Scene.start();
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
    scene.stop();
  });

  function connect(): ObedientClient {
    const client = new ObedientClient(`xds:///${SERVICE}`);
    clients.push(client);
    return client;
  }

  it('equals the calls made, through changes of the configuration and an outage', async () => {
    // 1. Two clusters, three localities, calls that succeed and calls that fail.
    scene.serve();
    const client = connect();
    await scene.callOne(client, 100, 'ok');
    await scene.callOne(client, 30, 'fail');
    await scene.callTwo(client, 50, 'two-eds');
    await scene.settle();
    expect(scene.reported['one a issued']).toBeGreaterThan(0);
    expect(scene.reported['one b issued']).toBeGreaterThan(0);
    expect(scene.mesh.controlPlane.loadClients()).toHaveLength(1);

    // 2. A locality goes while calls run in it, and comes back.
    const held = Array.from({ length: 8 }, () => client.call('hold'));
    const { a, b } = scene.zones;
    // Which locality a call goes to is drawn.
    await eventually(() => {
      const counts = [a.held.length, b.held.length] as const;
      const isSettled = counts[0] + counts[1] === held.length;
      if (isSettled && Math.min(...counts) === 0) held.push(client.call('hold'));
      return isSettled && Math.min(...counts) > 0;
    }, true);
    const [heldInA, heldInB] = [a.held.length, b.held.length];
    scene.note('one a issued', heldInA);
    scene.note('one b issued', heldInB);
    scene.serve({ hasZoneB: false });
    await scene.settle();
    expect(scene.inProgress).toMatchObject({ 'one a': heldInA, 'one b': heldInB });
    await eventually(async () => {
      const before = b.calls;
      await scene.callOne(client, 10, 'ok');
      return b.calls - before;
    }, 0);
    b.letGo();
    scene.note('one b succeeded', heldInB);
    scene.noteMetrics('one', 'b', heldInB);
    await scene.settle();

    // 3. The control plane dies and is replaced; calls go on, and one ends meanwhile.
    scene.mesh.killControlPlane();
    // A report that is sent before the client notices may have arrived, and is not repeated.
    await eventually(
      () => inspect().targets.flatMap(({ servers }) => servers.map(({ state }) => state)),
      (states) => !states.includes('open'),
    );
    await scene.callOne(client, 40, 'ok');
    await scene.callTwo(client, 20, 'two-eds');
    a.letGo();
    scene.note('one a succeeded', heldInA);
    scene.noteMetrics('one', 'a', heldInA);
    await Promise.all(held.map((call) => call.outcome));
    await scene.mesh.restartControlPlane(scene.resources({}));
    await scene.callOne(client, 25, 'fail');
    await scene.settle();
    expect(scene.inProgress).toEqual({});

    // 4. Calls dropped by category.
    const always = { numerator: 100, denominator: 'HUNDRED' };
    scene.serve({ drops: [{ category: 'shed', drop_percentage: always }] });
    await eventually(async () => {
      const { calls } = scene.zones.a;
      const callsB = scene.zones.b.calls;
      const [outcome] = await client.calls(1, 'ok');
      if (outcome?.code === status.UNAVAILABLE) return true;
      scene.noteFinished('one', 'a', 'succeeded', scene.zones.a.calls - calls);
      scene.noteFinished('one', 'b', 'succeeded', scene.zones.b.calls - callsB);
      return false;
    }, true);
    await client.calls(19, 'ok');
    scene.note('one dropped', 20);
    scene.note('one dropped shed', 20);
    await scene.settle();

    // 5. Calls dropped because there are too many, without a category, and calls cancelled.
    scene.serve({ maxRequests: 3 });
    await eventually(
      async () => {
        const before = [a.calls, b.calls] as const;
        const outcomes = await client.calls(4, 'ok');
        scene.noteFinished('one', 'a', 'succeeded', a.calls - before[0]);
        scene.noteFinished('one', 'b', 'succeeded', b.calls - before[1]);
        const dropped = outcomes.filter(({ code }) => code === status.UNAVAILABLE);
        scene.note('one dropped', dropped.length);
        const byCategory = dropped.filter(({ details }) => details.includes('shed'));
        scene.note('one dropped shed', byCategory.length);
        return dropped.length - byCategory.length;
      },
      (overLimit) => overLimit > 0,
    );
    const three = Array.from({ length: 3 }, () => client.call('hold'));
    await eventually(() => a.held.length + b.held.length, 3);
    scene.note('one a issued', a.held.length);
    scene.note('one b issued', b.held.length);
    await client.calls(5, 'ok');
    scene.note('one dropped', 5);
    for (const call of three) call.cancel();
    await Promise.all(three.map((call) => call.outcome));
    scene.note('one a failed', a.held.splice(0).length);
    scene.note('one b failed', b.held.splice(0).length);
    await scene.settle();

    // 6. A cluster gets another EDS service, is counted anew under its name, and then goes.
    scene.serve({ serviceName: 'other-eds' });
    const lastOfTwo = client.call('hold', TO_TWO);
    await eventually(() => scene.zones.c.held.length, 1);
    scene.serve({ serviceName: undefined });
    scene.zones.c.letGo();
    expect((await lastOfTwo.outcome).code).toBe(status.OK);
    const ofTwo = await eventually(
      () => Object.keys(scene.reported).filter((what) => /^two\/\S+ c succeeded/.test(what)),
      (names) => names.reduce((sum, name) => sum + (scene.reported[name] ?? 0), 0) === 71,
      60_000,
    );
    // The call was made before or after the change reached the client; it was counted once either way.
    const service = ofTwo.includes('two/other-eds c succeeded') ? 'other-eds' : 'two-eds';
    scene.noteFinished(`two/${service}`, 'c', 'succeeded', 1);
    await scene.settle();

    // 7. Calls outlive their channel and are reported when they end; then nothing is left.
    const last = [client.call('hold'), client.call('hold')];
    await eventually(() => a.held.length + b.held.length, 2);
    client.close();
    scene.note('one a issued', a.held.length);
    scene.note('one b issued', b.held.length);
    await scene.mesh.untilNoClients();
    expect(scene.mesh.controlPlane.loadClients()).toHaveLength(1);
    const left = [a.held.length, b.held.length] as const;
    a.letGo();
    b.letGo();
    await Promise.all(last.map((call) => call.outcome));
    scene.note('one a succeeded', left[0]);
    scene.note('one b succeeded', left[1]);
    scene.noteMetrics('one', 'a', left[0]);
    scene.noteMetrics('one', 'b', left[1]);
    await scene.settle();
    await eventually(() => scene.mesh.controlPlane.loadClients().length, 0);
  });

  it('has all calls of two channels, over one stream', async () => {
    scene.serve();
    const [first, second] = [connect(), connect()];
    await scene.callOne(first, 30, 'ok');
    await scene.callOne(second, 20, 'fail');
    await scene.settle();
    expect(scene.mesh.controlPlane.loadClients()).toHaveLength(1);
    await scene.callOne(first, 10, 'ok');
    first.close();
    await scene.callOne(second, 10, 'ok');
    second.close();
    await scene.settle();
    await eventually(() => scene.mesh.controlPlane.loadClients().length, 0);
  });
});
