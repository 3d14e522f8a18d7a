import { XdsDependencyManager } from '../../src/dependency-manager/dependency-manager';
import { describeHeldBack } from '../../src/dependency-manager/held-back';
import type { XdsConfig } from '../../src/dependency-manager/xds-config';
import { silentLogger, type Logger } from '../../src/util/logger';
import { err, type Result } from '../../src/util/result';
import { TimeSlices } from '../../src/util/time-slices';
import { FakeClock } from '../support/fake-clock';
import { FakeDns } from '../support/fake-dns';
import { FakeResourceSource, fakeTypes, withMessage } from '../support/fake-resource-source';
import {
  aggregateCluster,
  dnsCluster,
  edsCluster,
  endpoints,
  forwardTo,
  listener,
  route,
  routeConfig,
  virtualHost,
  xdsError,
} from '../support/xds-builders';

const SLOW = 'slow.example:80';

class Log implements Logger {
  readonly lines: string[] = [];
  readonly trace = silentLogger.trace;

  info(text: () => string): void {
    this.lines.push(`INFO ${text()}`);
  }

  error(text: () => string): void {
    this.lines.push(`ERROR ${text()}`);
  }
}

/** A target `svc` whose control plane and DNS are the test. */
class Scene {
  readonly clock = new FakeClock();
  readonly source = new FakeResourceSource();
  readonly dns = new FakeDns();
  updates = 0;
  last: Result<XdsConfig, string> | undefined;
  readonly manager: XdsDependencyManager;

  constructor(private readonly logger = new Log()) {
    this.manager = new XdsDependencyManager({
      source: this.source,
      types: fakeTypes,
      dns: this.dns,
      logger,
      listenerName: 'svc',
      host: 'svc',
      clientNote: 'node',
      limits: { maxClustersPerTarget: 100 },
      clock: this.clock,
      timeSlices: new TimeSlices(this.clock),
      onUpdate: (update) => {
        this.updates++;
        this.last = withMessage(update);
      },
    });
    this.source.serve(fakeTypes.listener, 'svc', listener('svc'));
  }

  /** A target with routes to these clusters. */
  static to(...clusters: readonly string[]): Scene {
    const scene = new Scene();
    scene.routeTo(...clusters);
    return scene;
  }

  get log(): readonly string[] {
    return this.logger.lines;
  }

  /** The same, in use with one endpoint for each cluster. */
  static using(...clusters: readonly string[]): Scene {
    const scene = Scene.to(...clusters);
    for (const name of clusters) scene.serveCluster(name, '10.0.0.1');
    scene.manager.start();
    return scene;
  }

  routeTo(...clusters: readonly string[]): void {
    const host = virtualHost(clusters.map((name) => route(forwardTo(name))));
    this.source.serve(fakeTypes.routeConfig, 'svc-routes', routeConfig('svc-routes', host));
  }

  serveCluster(name: string, ...hosts: readonly string[]): void {
    this.source.serve(fakeTypes.cluster, name, edsCluster(name));
    this.source.serve(fakeTypes.endpoints, name, endpoints(name, ...hosts));
  }

  serveDnsCluster(name: string, host = 'slow.example'): void {
    this.source.serve(fakeTypes.cluster, name, dnsCluster(name, host, 80));
  }

  /** The addresses of each cluster of the config in use; an error as it is. */
  get inUse(): Readonly<Record<string, unknown>> {
    if (this.last?.ok !== true) return {};
    return Object.fromEntries(
      [...this.last.value.clusters].map(([name, result]) => [name, showResult(result)]),
    );
  }

  /** The clusters of the routes in use. */
  get routed(): readonly string[] {
    return this.last?.ok === true ? [...this.last.value.virtualHost.clusters] : [];
  }

  get heldBack(): readonly string[] {
    return this.manager.heldBack(10).map(describeHeldBack);
  }
}

function showResult(
  result: XdsConfig['clusters'] extends ReadonlyMap<string, infer T> ? T : never,
): unknown {
  if (!result.ok) return result.error.message;
  const { children } = result.value;
  if (children.kind === 'aggregate') return children.leafClusters;
  if (children.endpoints === undefined) return children.resolutionNote;
  return children.endpoints.priorities.flatMap(({ localities }) =>
    localities.flatMap((locality) =>
      locality.endpoints.flatMap(({ addresses }) => addresses.map(({ host }) => host)),
    ),
  );
}

describe('a DNS name that is not answered, on a running channel', () => {
  it('keeps a cluster that moves to it as it was, while others change', () => {
    const scene = Scene.using('a', 'b');
    scene.serveDnsCluster('b');
    scene.source.serve(fakeTypes.endpoints, 'a', endpoints('a', '10.0.0.2'));
    expect(scene.inUse).toEqual({ a: ['10.0.0.2'], b: ['10.0.0.1'] });
    expect(scene.source.watched(fakeTypes.endpoints)).toEqual(['a', 'b']);
    scene.dns.resolve(SLOW, endpoints('b', '10.0.0.3'));
    expect(scene.inUse).toEqual({ a: ['10.0.0.2'], b: ['10.0.0.3'] });
    expect(scene.source.watched(fakeTypes.endpoints)).toEqual(['a']);
  });

  it('holds back the routes that name its cluster, and no change of the clusters in use', () => {
    const scene = Scene.using('a', 'b');
    scene.serveDnsCluster('n');
    scene.routeTo('a', 'n');
    expect(scene.routed).toEqual(['a', 'b']);
    scene.source.serve(fakeTypes.endpoints, 'a', endpoints('a', '10.0.0.2'));
    scene.source.fail(fakeTypes.cluster, 'b', xdsError('no b'));
    expect(scene.inUse).toEqual({ a: ['10.0.0.2'], b: ['10.0.0.1'] });
    scene.dns.resolve(SLOW, endpoints('n', '10.0.0.3'));
    expect(scene.routed).toEqual(['a', 'n']);
    expect(scene.inUse).toEqual({ a: ['10.0.0.2'], n: ['10.0.0.3'] });
    expect(scene.source.watched(fakeTypes.cluster)).toEqual(['a', 'n']);
  });

  it('does not keep the error of a cluster that fails for another reason meanwhile', () => {
    const scene = Scene.using('a', 'b');
    scene.source.fail(fakeTypes.cluster, 'b', xdsError('no b'));
    scene.serveDnsCluster('n');
    scene.routeTo('a', 'n');
    scene.source.fail(fakeTypes.cluster, 'b', xdsError('b is refused'));
    expect(scene.inUse['b']).toBe('b is refused');
  });

  it('lets later routes without its cluster through', () => {
    const scene = Scene.using('a', 'b');
    scene.serveDnsCluster('n');
    scene.routeTo('a', 'n');
    scene.routeTo('b');
    expect(scene.routed).toEqual(['b']);
    expect(scene.inUse).toEqual({ b: ['10.0.0.1'] });
    expect(scene.dns.watched).toEqual([]);
    expect(scene.heldBack).toEqual([]);
  });

  it('fails its cluster alone after 15 s, and uses a late answer', () => {
    const scene = Scene.using('a');
    scene.serveDnsCluster('n');
    scene.routeTo('a', 'n');
    scene.clock.advance(14_999);
    expect(scene.routed).toEqual(['a']);
    scene.clock.advance(1);
    expect(scene.routed).toEqual(['a', 'n']);
    expect(scene.inUse).toEqual({
      a: ['10.0.0.1'],
      n: expect.stringMatching(
        /^DNS resolution of slow\.example:80 failed: the DNS resolver has not answered within 15s \(node\): check the name, and the DNS servers of this host \(failing since 20.*Z\)$/,
      ),
    });
    expect(scene.heldBack).toEqual([]);
    scene.dns.resolve(SLOW, endpoints('n', '10.0.0.3'));
    expect(scene.inUse['n']).toEqual(['10.0.0.3']);
  });

  it('holds back the next version of an aggregate, whose clusters in use still change', () => {
    const scene = Scene.using('a');
    scene.serveCluster('x', '10.0.0.1');
    scene.source.serve(fakeTypes.cluster, 'a', aggregateCluster('a', 'x'));
    scene.serveDnsCluster('n');
    scene.source.serve(fakeTypes.cluster, 'a', aggregateCluster('a', 'n'));
    scene.source.serve(fakeTypes.endpoints, 'x', endpoints('x', '10.0.0.2'));
    expect(scene.inUse).toEqual({ a: ['x'], x: ['10.0.0.2'] });
    expect(scene.heldBack[0]).toMatch(/^Cluster "a": .* the version before, waits for Cluster "n"/);
    scene.dns.resolve(SLOW, endpoints('n', '10.0.0.3'));
    expect(scene.inUse).toEqual({ a: ['n'], n: ['10.0.0.3'] });
    expect(scene.source.watched(fakeTypes.cluster)).toEqual(['a', 'n']);
  });

  it('does not hold back the next version of an aggregate that is without it', () => {
    const scene = Scene.using('x');
    scene.source.serve(fakeTypes.cluster, 'a', aggregateCluster('a', 'x'));
    scene.routeTo('a');
    scene.serveDnsCluster('x');
    scene.source.serve(fakeTypes.cluster, 'n', edsCluster('n'));
    scene.source.serve(fakeTypes.cluster, 'a', aggregateCluster('a', 'n'));
    expect(scene.inUse).toEqual({ a: ['x'], x: ['10.0.0.1'] });
    scene.source.serve(fakeTypes.endpoints, 'n', endpoints('n', '10.0.0.2'));
    expect(scene.inUse).toEqual({ a: ['n'], n: ['10.0.0.2'] });
  });

  it('holds back nothing for a cluster that was only subscribed to', () => {
    const scene = Scene.using('a');
    scene.serveDnsCluster('n');
    scene.manager.subscribeCluster('n');
    expect(scene.manager.describeWait('n')).toMatch(
      /^DNS name "slow\.example:80" of Cluster "n": waiting for 0\.0 s: .* \(node\): check/,
    );
    scene.routeTo('a', 'a');
    scene.source.serve(fakeTypes.endpoints, 'a', endpoints('a', '10.0.0.2'));
    expect(scene.inUse).toEqual({ a: ['10.0.0.2'] });
    scene.dns.resolve(SLOW, endpoints('n', '10.0.0.3'));
    expect(scene.inUse).toEqual({ a: ['10.0.0.2'], n: ['10.0.0.3'] });
    expect(scene.manager.describeWait('n')).toBeUndefined();
  });

  it('does not make a config of the time before an error come back', () => {
    const scene = Scene.using('a');
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('gone'));
    scene.serveDnsCluster('n');
    scene.routeTo('n');
    scene.source.serve(fakeTypes.listener, 'svc', listener('svc'));
    expect(scene.last).toEqual(err('gone'));
    scene.dns.resolve(SLOW, endpoints('n', '10.0.0.3'));
    expect(scene.inUse).toEqual({ n: ['10.0.0.3'] });
  });
});

describe('a resource that is late, on a running channel', () => {
  it('holds back the listener that names it, and no change of the clusters in use', () => {
    const scene = Scene.using('a');
    const routes = { kind: 'rds', routeConfigName: 'next' } as const;
    scene.source.serve(fakeTypes.listener, 'svc', listener('svc', { routes }));
    scene.source.serve(fakeTypes.endpoints, 'a', endpoints('a', '10.0.0.2'));
    expect(scene.inUse).toEqual({ a: ['10.0.0.2'] });
    scene.clock.advance(2000);
    expect(scene.heldBack).toEqual([
      'Listener "svc": received 2.0 s ago, in use: the version before, waits for RouteConfiguration "next"',
    ]);
    const host = virtualHost([route(forwardTo('b'))]);
    scene.serveCluster('b', '10.0.0.3');
    scene.source.serve(fakeTypes.routeConfig, 'next', routeConfig('next', host));
    expect(scene.inUse).toEqual({ b: ['10.0.0.3'] });
  });

  it('is named, with the age of what it holds back', () => {
    const scene = Scene.using('a');
    scene.source.serve(fakeTypes.cluster, 'n', edsCluster('n'));
    scene.routeTo('a', 'n', 'm');
    scene.clock.advance(12_000);
    scene.routeTo('a', 'n', 'm', 'a');
    expect(scene.manager.describeWait('n')).toBe(
      'Cluster "n": waiting for 12.0 s: ClusterLoadAssignment "n" has not been received (node)',
    );
    expect(scene.manager.describeWait('m')).toBe(
      'Cluster "m": waiting for 12.0 s: Cluster "m" has not been received (node)',
    );
    expect(scene.heldBack).toEqual([
      'RouteConfiguration "svc-routes": received 12.0 s ago, in use: the version before, waits for ClusterLoadAssignment "n" of Cluster "n", Cluster "m"',
      'Cluster "n": received 12.0 s ago, in use: none, waits for ClusterLoadAssignment "n"',
    ]);
  });
});

describe('a first config', () => {
  it('is used after 100 ms without a cluster whose name is not answered', () => {
    const scene = Scene.to('a', 'n');
    scene.serveCluster('a', '10.0.0.1');
    scene.serveDnsCluster('n');
    scene.manager.start();
    scene.clock.advance(99);
    expect(scene.updates).toBe(0);
    expect(scene.heldBack[0]).toMatch(/^RouteConfiguration "svc-routes": .*, in use: none, waits/);
    scene.clock.advance(1);
    expect(scene.routed).toEqual(['a', 'n']);
    expect(scene.inUse).toEqual({ a: ['10.0.0.1'] });
    expect(scene.manager.cluster('n')).toBeUndefined();
    // Its metadata is known to HTTP filters of the calls that wait for it.
    expect(scene.manager.resource('n')).toMatchObject({ ok: true, value: { name: 'n' } });
    expect(scene.manager.resource('other')).toBeUndefined();
    expect(scene.heldBack).toEqual([
      'Cluster "n": received 0.1 s ago, in use: none, waits for DNS name "slow.example:80"',
    ]);
    // A change of the routes needs nothing that is not missing already.
    scene.routeTo('n', 'a');
    expect(scene.routed).toEqual(['n', 'a']);
    scene.dns.resolve(SLOW, endpoints('n', '10.0.0.3'));
    expect(scene.inUse).toEqual({ a: ['10.0.0.1'], n: ['10.0.0.3'] });
    expect(scene.heldBack).toEqual([]);
  });

  it('waits for a cluster that can be used, or for the failure of all', () => {
    const scene = Scene.to('n');
    scene.serveDnsCluster('n');
    scene.manager.start();
    scene.clock.advance(14_999);
    expect(scene.updates).toBe(0);
    scene.clock.advance(1);
    expect(scene.updates).toBe(1);
    expect(scene.inUse['n']).toMatch(/has not answered within 15s/);
  });
});

describe('the wait for DNS', () => {
  it('is named with host name, cluster, resolver and since when', () => {
    const scene = Scene.to('n', 'm');
    scene.serveDnsCluster('n');
    scene.serveDnsCluster('m');
    scene.manager.start();
    expect(scene.manager.waitingFor(3)).toHaveLength(1);
    const since = new Date(scene.clock.now()).toISOString().replace('.000', '');
    scene.clock.advance(6000);
    expect(scene.manager.waitingFor(3)).toEqual([
      `DNS name "slow.example:80" of Cluster "n" and 1 more: waiting for 6.0 s: the DNS resolver has not answered since ${since} (node): check the name, and the DNS servers of this host`,
    ]);
  });

  it('is logged once after 5 s, and once when it ends', () => {
    const scene = Scene.to('n');
    scene.serveDnsCluster('n');
    scene.manager.start();
    scene.clock.advance(4999);
    expect(scene.log).toEqual([]);
    scene.clock.advance(1);
    expect(scene.log).toEqual([expect.stringMatching(/^ERROR DNS name "slow.*waiting for 5\.0 s/)]);
    scene.clock.advance(15_000);
    scene.dns.resolve(SLOW, endpoints('n', '10.0.0.3'));
    scene.dns.resolve(SLOW, endpoints('n', '10.0.0.4'));
    expect(scene.log.slice(1)).toEqual(['INFO DNS name "slow.example:80": answered after 20.0 s']);
  });

  it('is logged once, however many targets wait for it', () => {
    const log = new Log();
    const scenes = [new Scene(log), new Scene(log)];
    for (const scene of scenes) {
      scene.routeTo('n');
      scene.serveDnsCluster('n');
      scene.manager.start();
      scene.clock.advance(5000);
    }
    for (const { dns } of scenes) dns.resolve(SLOW, endpoints('n', '10.0.0.3'));
    expect(log.lines).toEqual([
      expect.stringMatching(/^ERROR DNS name "slow/),
      'INFO DNS name "slow.example:80": answered after 5.0 s',
    ]);
  });

  it('is not logged for a name that is answered, or not needed any more, in time', () => {
    const scene = Scene.to('n', 'm');
    scene.serveDnsCluster('n');
    scene.serveDnsCluster('m', 'other.example');
    scene.manager.start();
    scene.dns.resolve(SLOW, endpoints('n', '10.0.0.3'));
    scene.routeTo('n');
    scene.clock.advance(20_000);
    expect(scene.log).toEqual([]);
    expect(scene.clock.pendingTimers).toBe(0);
  });

  it('has a bounded number of lines', () => {
    const names = Array.from({ length: 12 }, (_, i) => `n${i}`);
    const scene = Scene.to(...names);
    for (const name of names) scene.serveDnsCluster(name, name);
    scene.manager.start();
    scene.clock.advance(5000);
    expect(scene.log).toHaveLength(11);
    expect(scene.log.at(-1)).toBe('ERROR 2 more DNS names are also pending');
    expect(scene.manager.waitingFor(3).slice(3)).toEqual(['and 9 more DNS names are also pending']);
  });
});
