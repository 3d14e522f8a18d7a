import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { TimeSlices } from '../../src/util/time-slices';
import type { Bootstrap } from '../../src/bootstrap/bootstrap';
import {
  type CallConfig,
  type ChannelOptions,
  type Filter,
  Metadata,
  Status,
} from '../../src/grpc-js';
import type { XdsConfig } from '../../src/dependency-manager/xds-config';
import { HttpFilterRegistry } from '../../src/http-filters/registry';
import { MatchMeter } from '../../src/resources/matching/match-meter';
import { LiveResolutions } from '../../src/resolver/resolver-dependencies';
import { XdsResolver } from '../../src/resolver/xds-resolver';
import {
  CertificateProviderRegistry,
  CertificateProviders,
} from '../../src/security/providers/certificate-providers';
import type { HeaderCondition, Route } from '../../src/resources/route-config/route-config';
import { silentLogger } from '../../src/util/logger';
import { lasting } from '../support/lasting';
import { withoutSince } from '../../src/util/since';
import { err, ok, type Result } from '../../src/util/result';
import type { WatchError } from '../../src/xds-client/resource-watcher';
import { unreachableError } from '../../src/xds-client/xds-errors';
import { DiagnosticRecorder } from '../support/diagnostic-recorder';
import { childrenOf, FakeChannel } from './fake-channel';
import { FakeDns } from '../support/fake-dns';
import { FakeResourceSource, fakeTypes } from '../support/fake-resource-source';
import { SlowClock } from '../support/slow-clock';
import {
  dnsCluster,
  edsCluster,
  endpoints,
  forwardTo,
  listener,
  route,
  routeConfig,
  socketListener,
  virtualHost,
  virtualHostTo,
  xdsError,
  type Weighted,
} from '../support/xds-builders';

const bootstrap: Bootstrap = {
  source: 'the test',
  servers: [],
  node: { id: 'n1', cluster: '', locality: undefined, metadata: undefined },
  authorities: new Map([
    [
      'auth',
      {
        clientListenerResourceNameTemplate: 'xdstp://auth/envoy.config.listener.v3.Listener/%s',
        servers: [],
        fallbackOnReachabilityOnly: false,
      },
    ],
  ]),
  clientDefaultListenerResourceNameTemplate: '%s',
  certificateProviders: new Map(),
};

/** A resolver for `xds:///svc` between a channel and a client that the test plays. */
class Scene {
  readonly source = new FakeResourceSource();
  readonly dns = new FakeDns();
  readonly clock = new SlowClock();
  readonly channel = new FakeChannel();
  /** The lines an operator sees by default. */
  readonly logged: string[] = [];
  readonly infos: string[] = [];
  bootstrap: Result<Bootstrap, { readonly message: string }> = ok(bootstrap);
  bootstrapLoads = 0;
  /** Holds on the client that have not been released. */
  clientHolds = 0;
  /** What the weighted choice draws. */
  drawn = 0;
  readonly liveResolutions = new LiveResolutions();
  readonly resolver;

  constructor(authority = '', path = 'svc', options: ChannelOptions = {}) {
    this.resolver = new XdsResolver(
      { scheme: 'xds', authority, path },
      this.channel.listener,
      options,
      {
        loadBootstrap: () => {
          this.bootstrapLoads++;
          return this.bootstrap;
        },
        acquireClient: () => {
          this.clientHolds++;
          return { client: this.source, release: () => this.clientHolds-- };
        },
        types: fakeTypes,
        httpFilters: new HttpFilterRegistry([]),
        hash: () => undefined,
        meter: new MatchMeter(DEFAULT_LIMITS, silentLogger),
        liveResolutions: this.liveResolutions,
        timeSlices: new TimeSlices(this.clock),
        certificates: new CertificateProviders({
          types: new CertificateProviderRegistry(),
          clock: this.clock,
          logger: silentLogger,
        }),
        createDns: () => this.dns,
        clock: this.clock,
        random: () => this.drawn,
        logger: {
          ...silentLogger,
          error: (text) => this.logged.push(withoutSince(text())),
          info: (text) => this.infos.push(withoutSince(text())),
        },
        limits: DEFAULT_LIMITS,
      },
    );
  }

  /** The config in use. */
  get config(): XdsConfig {
    const live = this.liveResolutions.find('xds:///svc')?.live;
    if (live === undefined) throw new Error('There is no config');
    return live.config;
  }

  serveListener(maxStreamDurationMs?: number): this {
    this.source.serve(fakeTypes.listener, 'svc', listener('svc', { maxStreamDurationMs }));
    return this;
  }

  serveRoutes(...routes: readonly Route[]): this {
    const config = routeConfig('svc-routes', virtualHost(routes));
    this.source.serve(fakeTypes.routeConfig, 'svc-routes', config);
    return this;
  }

  routeTo(target: string | readonly Weighted[]): this {
    return this.serveRoutes(route(forwardTo(target)));
  }

  serveClusters(...names: readonly string[]): this {
    for (const name of names) {
      this.source.serve(fakeTypes.cluster, name, edsCluster(name));
      this.source.serve(fakeTypes.endpoints, name, endpoints(name, '10.0.0.1'));
    }
    return this;
  }

  /** A channel with routes to cluster `a`; `b` and `c` exist too. */
  resolved(): this {
    this.serveListener().serveClusters('a', 'b', 'c').routeTo('a');
    this.resolver.updateResolution();
    return this;
  }
}

const byPath = (path: string, target: string): Route =>
  route(forwardTo(target), { path: { kind: 'path', text: path, caseSensitive: true } });

function clusterOf(call: CallConfig): unknown {
  return Reflect.get(call.pickInformation, 'cluster');
}

function filtersOf(call: CallConfig): readonly Filter[] {
  return call.dynamicFilterFactories.map((factory) => factory.createFilter());
}

/** What a call comes to that the filters let through, or not. */
async function outcomeOf(call: CallConfig): Promise<unknown> {
  expect(call.status).toBe(Status.OK);
  try {
    for (const filter of filtersOf(call))
      await filter.sendMetadata(Promise.resolve(new Metadata()));
    return 'sent';
  } catch (status) {
    return status;
  }
}

function endCall(call: CallConfig): void {
  const status = { code: Status.CANCELLED, details: 'cancelled', metadata: new Metadata() };
  for (const filter of filtersOf(call)) filter.receiveTrailers(status);
}

const unavailable = (details: string) =>
  expect.objectContaining({ code: Status.UNAVAILABLE, details });

/** What the statuses of calls without a route say of the configuration. */
const ORIGIN =
  '; configured by Listener "svc" and RouteConfiguration "svc-routes" of xDS node "n1"';

describe('XdsResolver: the first result', () => {
  it('does nothing before the first updateResolution', () => {
    const scene = new Scene().serveListener();
    expect([scene.bootstrapLoads, scene.clientHolds, scene.source.watchCount]).toEqual([0, 0, 0]);
  });

  it('publishes config selector, load-balancing config and xds context, and no addresses', () => {
    const { channel, config } = new Scene().resolved();
    expect(channel.told).toHaveLength(1);
    expect(channel.children).toEqual(['cluster:a']);
    expect(channel.result.endpointCount).toBe(0);
    expect(channel.result.note).toBe('');
    expect([...config.clusters.keys()]).toEqual(['a']);
    expect(channel.result.context.clusters.cluster('a')).toBe(config.clusters.get('a'));
    expect(clusterOf(channel.call('/s/m'))).toBe('cluster:a');
  });

  it('publishes a selector that queues calls, and nothing else while a resource is pending', () => {
    const scene = new Scene().serveListener();
    scene.resolver.updateResolution();
    scene.resolver.updateResolution();
    scene.clock.flush();
    expect(scene.channel.waits).toBe(1);
    expect(clusterOf(scene.channel.call('/s/m'))).toBe('');
    expect(scene.channel.told).toEqual([]);
    expect([scene.bootstrapLoads, scene.clientHolds]).toEqual([1, 1]);
  });

  it('watches the listener of the template of the authority', () => {
    const scene = new Scene('auth', 'a b');
    scene.resolver.updateResolution();
    expect(scene.source.watched(fakeTypes.listener)).toEqual([
      'xdstp://auth/envoy.config.listener.v3.Listener/a%20b',
    ]);
  });

  it('chooses the virtual host by the name, without the authority', () => {
    const scene = new Scene('auth', 'svc').serveClusters('mine', 'other');
    const name = 'xdstp://auth/envoy.config.listener.v3.Listener/svc';
    scene.source.serve(fakeTypes.listener, name, listener('svc'));
    const mine = virtualHost([route(forwardTo('mine'))], { domains: ['svc'] });
    const config = routeConfig('svc-routes', virtualHostTo('other'), mine);
    scene.source.serve(fakeTypes.routeConfig, 'svc-routes', config);
    scene.resolver.updateResolution();
    expect(scene.channel.children).toEqual(['cluster:mine']);
  });
});

describe('XdsResolver: the virtual host', () => {
  it.each<[string, string, ChannelOptions, string]>([
    ['the path of the target', 'svc', {}, 'svc'],
    ['the path with slashes percent-encoded', 'a/svc', {}, 'a%2Fsvc'],
    ['grpc.default_authority', 'svc', { 'grpc.default_authority': 'other' }, 'other'],
  ])('is chosen by %s', (_, path, options, domain) => {
    const scene = new Scene('', path, options).serveClusters('mine', 'rest');
    scene.source.serve(fakeTypes.listener, path, listener('svc'));
    const mine = virtualHost([route(forwardTo('mine'))], { domains: [domain] });
    const config = routeConfig('svc-routes', virtualHostTo('rest'), mine);
    scene.source.serve(fakeTypes.routeConfig, 'svc-routes', config);
    scene.resolver.updateResolution();
    expect(scene.channel.children).toEqual(['cluster:mine']);
  });
});

describe('XdsResolver: a route by user-agent', () => {
  it.each([
    ['does not match, whatever the application sets', false, 'b'],
    ['matches if it is for calls without the header', true, 'a'],
  ])('%s (gRFC A28)', (_what, invert, cluster) => {
    const scene = new Scene('', 'svc', { 'grpc.primary_user_agent': 'shop/1' });
    scene.serveListener().serveClusters('a', 'b');
    const condition: HeaderCondition = { kind: 'present', present: true };
    const header = { name: 'user-agent', condition, invert, missingAsEmpty: false };
    scene.serveRoutes(route(forwardTo('a'), { headers: [header] }), route(forwardTo('b')));
    scene.resolver.updateResolution();
    const headers = new Metadata();
    headers.set('user-agent', 'shop/1');
    expect(clusterOf(scene.channel.call('/s/m', headers))).toBe(`cluster:${cluster}`);
  });
});

describe('XdsResolver: errors before there is a config', () => {
  it('reports a missing bootstrap asynchronously, and tries again on request', () => {
    const scene = new Scene();
    scene.bootstrap = err({ message: 'no bootstrap file' });
    scene.resolver.updateResolution();
    expect(scene.channel.told).toEqual([]);
    scene.clock.flush();
    expect(scene.channel.told).toMatchObject([{ kind: 'error', details: 'no bootstrap file' }]);
    scene.resolver.updateResolution();
    scene.clock.flush();
    expect(scene.channel.told).toHaveLength(1);
    scene.bootstrap = ok(bootstrap);
    scene.resolved();
    expect(scene.channel.children).toEqual(['cluster:a']);
    expect(scene.bootstrapLoads).toBe(3);
  });

  it('escapes line feeds of a bootstrap in the status of calls', () => {
    const scene = new Scene();
    scene.bootstrap = err({ message: '/a\nb: no such file' });
    scene.resolver.updateResolution();
    scene.clock.flush();
    expect(scene.channel.last).toMatchObject({ kind: 'error', details: '/a\\nb: no such file' });
  });

  it('reports an unknown authority', () => {
    const scene = new Scene('elsewhere');
    scene.resolver.updateResolution();
    scene.clock.flush();
    expect(scene.channel.last).toMatchObject({
      kind: 'error',
      details:
        'authority "elsewhere" is not among the authorities of the bootstrap the test (it has "auth"): ' +
        'add it there, or use xds:///svc',
    });
    expect(scene.clientHolds).toBe(0);
  });

  it('reports a missing listener, once', () => {
    const scene = new Scene();
    scene.resolver.updateResolution();
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('Listener "svc" does not exist'));
    expect(scene.channel.told).toEqual([]);
    scene.clock.flush();
    scene.resolver.updateResolution();
    scene.clock.flush();
    const told = { kind: 'error', details: lasting('Listener "svc" does not exist') };
    expect(scene.channel.told).toMatchObject([told]);
    expect(scene.bootstrapLoads).toBe(1);
  });

  it('reports a socket listener', () => {
    const scene = new Scene();
    scene.source.serve(fakeTypes.listener, 'svc', socketListener('svc'));
    scene.resolver.updateResolution();
    scene.clock.flush();
    expect(scene.channel.last).toMatchObject({
      details: lasting(
        'Listener "svc" is a socket listener and cannot serve a client: it has no api_listener (xDS node "n1"): give it one, or use the name of another listener',
      ),
    });
  });

  it('reports that no virtual host matches, and recovers when one does', () => {
    const scene = new Scene().serveListener().serveClusters('a');
    const foreign = routeConfig('svc-routes', virtualHost([], { domains: ['other'] }));
    scene.source.serve(fakeTypes.routeConfig, 'svc-routes', foreign);
    scene.resolver.updateResolution();
    scene.clock.flush();
    expect(scene.channel.last).toMatchObject({
      kind: 'error',
      details: lasting(
        'RouteConfiguration "svc-routes" has no virtual host for "svc" (xDS node "n1"): ' +
          'add it to the domains of one, or set the channel option grpc.default_authority',
      ),
    });
    scene.routeTo('a');
    expect(scene.channel.children).toEqual(['cluster:a']);
  });

  it.each<[string, (scene: Scene) => void, string]>([
    [
      'a missing bootstrap',
      (scene) => (scene.bootstrap = err({ message: 'xDS bootstrap is missing' })),
      'xDS bootstrap is missing',
    ],
    [
      'a listener that does not exist',
      ({ source }) => source.fail(fakeTypes.listener, 'svc', xdsError('Listener "svc": gone')),
      'Listener "svc": gone',
    ],
    [
      'routes without a virtual host',
      (scene) => {
        scene.serveListener();
        const foreign = routeConfig('svc-routes', virtualHost([], { domains: ['other'] }));
        scene.source.serve(fakeTypes.routeConfig, 'svc-routes', foreign);
      },
      'RouteConfiguration "svc-routes" has no virtual host for "svc" (xDS node "n1"): ' +
        'add it to the domains of one, or set the channel option grpc.default_authority',
    ],
  ])('logs %s once, in the words of the status', (_name, breakIt, details) => {
    const scene = new Scene();
    breakIt(scene);
    for (let i = 0; i < 3; i++) {
      scene.resolver.updateResolution();
      scene.clock.flush();
    }
    const { details: told = '' } = scene.channel.last as { details?: string };
    expect(withoutSince(told)).toBe(details);
    expect(scene.logged).toEqual([`xds:///svc: no configuration: ${details}`]);
  });

  it.each([
    ['elsewhere', 'svc', 'xds://elsewhere/svc: no configuration: authority "elsewhere" is not'],
    ['svc', '', 'xds://svc/: no configuration: the xds: target has the authority "svc"'],
  ])('logs a target with the authority %s and the path %s', (authority, path, line) => {
    const scene = new Scene(authority, path);
    scene.resolver.updateResolution();
    scene.clock.flush();
    expect(scene.logged).toEqual([expect.stringContaining(line)]);
  });

  it('logs an error again after a config, which is logged, and also while calls are routed by an earlier config', () => {
    const scene = new Scene().resolved();
    expect(scene.logged).toEqual([]);
    for (let i = 0; i < 2; i++) {
      for (let j = 0; j < 2; j++) {
        scene.source.fail(fakeTypes.listener, 'svc', xdsError('gone'));
        scene.clock.advance(1000);
      }
      scene.serveListener();
    }
    const [failed, recovered] = [
      'xds:///svc: no configuration: gone',
      'xds:///svc: configured again',
    ];
    expect(scene.logged).toEqual([failed, failed]);
    expect(scene.infos).toEqual([recovered, recovered]);
  });

  it('does not log an error that ends before the update has settled, or the target is left', () => {
    const scene = new Scene().resolved();
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('gone'));
    scene.clock.advance(999);
    scene.serveListener();
    scene.clock.advance(10_000);
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('gone'));
    scene.resolver.destroy();
    scene.clock.advance(10_000);
    expect(scene.logged).toEqual([]);
    expect(scene.infos).toEqual([]);
  });

  it('leaves the failure of a server to its own line, which is one for all targets', () => {
    const scene = new Scene();
    scene.resolver.updateResolution();
    const fail = (error: WatchError) => {
      scene.source.fail(fakeTypes.listener, 'svc', error);
      scene.clock.flush();
    };
    const failures = [{ text: 'management server s cannot be reached: refused', sinceMs: 1 }];
    fail(unreachableError({ typeName: 'Listener', name: 'svc' }, failures));
    expect(scene.logged).toEqual([]);
    expect(scene.infos).toHaveLength(1);
    fail(xdsError('Listener "svc": no such resource'));
    expect(scene.logged).toEqual([
      'xds:///svc: no configuration: Listener "svc": no such resource',
    ]);
  });

  it('does not report an error after a later config', () => {
    const scene = new Scene().serveClusters('a').routeTo('a');
    scene.resolver.updateResolution();
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('gone'));
    scene.serveListener();
    scene.clock.flush();
    expect(scene.channel.told.map(({ kind }) => kind)).toEqual(['result']);
    expect(scene.logged).toEqual([]);
  });

  it('reports only the latest of several errors', () => {
    const scene = new Scene();
    scene.resolver.updateResolution();
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('first'));
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('second'));
    scene.clock.flush();
    expect(scene.channel.told).toMatchObject([{ details: lasting('second') }]);
  });

  it('reports nothing after it was destroyed', () => {
    const scene = new Scene();
    scene.bootstrap = err({ message: 'no bootstrap file' });
    scene.resolver.updateResolution();
    scene.resolver.destroy();
    scene.bootstrap = ok(bootstrap);
    scene.resolver.updateResolution();
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('gone'));
    scene.resolver.destroy();
    scene.clock.flush();
    expect(scene.channel.told).toEqual([]);
  });
});

describe('XdsResolver: updates', () => {
  it('follows the routes, and removes the old cluster after the release of the old selector', () => {
    const scene = new Scene().resolved();
    const { channel } = scene;
    const before = channel.told.length;
    scene.routeTo('b');
    const steps = channel.told
      .slice(before)
      .map((told) => (told.kind === 'result' ? told : undefined));
    // First both, because calls in the hands of the old selector may still go to the old one.
    expect(steps.map((told) => told && childrenOf(told))).toEqual([
      ['cluster:a', 'cluster:b'],
      ['cluster:b'],
    ]);
    expect(clusterOf(channel.call('/s/m'))).toBe('cluster:b');
    expect(scene.source.watched(fakeTypes.cluster)).toEqual(['b']);
  });

  it('never has a child whose cluster is missing from the xds context', () => {
    const scene = new Scene().resolved();
    scene.channel.onTold = (told) => {
      if (told.kind !== 'result') return;
      const { clusters } = told.context;
      for (const name of told.lbConfig.children.keys()) {
        expect(clusters.cluster(name.slice('cluster:'.length))).toBeDefined();
      }
    };
    scene.routeTo('b').routeTo([
      ['b', 1],
      ['c', 1],
    ]);
    const call = scene.channel.call('/s/m');
    scene.routeTo('a');
    call.onCommitted?.();
    expect(scene.channel.children).toEqual(['cluster:a']);
  });

  it('does not publish when only endpoints change', () => {
    const scene = new Scene().resolved();
    const { clusters } = scene.channel.result.context;
    const before = clusters.cluster('a');
    scene.source.serve(fakeTypes.endpoints, 'a', endpoints('a', '10.0.0.2'));
    expect(scene.channel.told).toHaveLength(1);
    expect(clusters.cluster('a')).not.toBe(before);
    expect(scene.config.clusters.get('a')).toBe(clusters.cluster('a'));
  });

  it('does not publish when the virtual host is the same object', () => {
    const scene = new Scene().resolved();
    const { channel } = scene;
    const before = channel.call('/s/m');
    const routes = { ...scene.config.routeConfig };
    scene.source.serve(fakeTypes.routeConfig, 'svc-routes', routes);
    expect(scene.config.routeConfig).toBe(routes);
    expect(channel.told).toHaveLength(1);
    expect(channel.call('/s/m').methodConfig).toBe(before.methodConfig);
  });

  it('keeps the context of the policies', () => {
    const scene = new Scene().resolved();
    const { context } = scene.channel.result;
    scene.routeTo('b');
    expect(scene.channel.told).toHaveLength(3);
    expect(scene.channel.result.context).toBe(context);
  });

  it('publishes a config that the channel did not accept again with the next update', () => {
    const scene = new Scene();
    scene.channel.accepts = false;
    scene.resolved();
    expect(scene.channel.told).toHaveLength(1);
    scene.channel.accepts = true;
    scene.source.serve(fakeTypes.endpoints, 'a', endpoints('a', '10.0.0.2'));
    expect(scene.channel.told).toHaveLength(2);
  });

  it('keeps the config of the children that stay', () => {
    const scene = new Scene().resolved();
    const before = scene.channel.result.lbConfig;
    scene.routeTo([
      ['a', 1],
      ['b', 1],
    ]);
    const after = scene.channel.result.lbConfig;
    expect(after).not.toBe(before);
    expect(after.children.get('cluster:a')).toBe(before.children.get('cluster:a'));
  });

  it('publishes nothing when nothing changed', () => {
    const scene = new Scene().resolved();
    const { listener: same } = scene.config;
    scene.source.serve(fakeTypes.listener, 'svc', same);
    expect(scene.channel.told).toHaveLength(1);
  });

  it('passes requests to resolve again on to DNS', () => {
    const scene = new Scene().serveListener().routeTo('d');
    scene.source.serve(fakeTypes.cluster, 'd', dnsCluster('d', 'db.example', 5432));
    scene.resolver.updateResolution();
    scene.dns.resolve('db.example:5432', endpoints('d', '10.0.0.1'));
    scene.resolver.updateResolution();
    expect(scene.dns.reresolutions).toEqual(['db.example:5432']);
    scene.channel.result.context.clusters.requestReresolution();
    expect(scene.dns.reresolutions).toHaveLength(2);
  });

  it('accepts a subscription of a policy to a cluster without a route', () => {
    const scene = new Scene().resolved();
    const held = scene.channel.result.context.clusters.subscribeCluster('c');
    expect([...scene.config.clusters.keys()].sort()).toEqual(['a', 'c']);
    expect(scene.channel.children).toEqual(['cluster:a']);
    held.release();
    expect([...scene.config.clusters.keys()]).toEqual(['a']);
  });
});

describe('XdsResolver: calls', () => {
  it('draws a cluster by weight for each call', () => {
    const scene = new Scene().serveListener().serveClusters('a', 'b');
    scene.routeTo([
      ['a', 75],
      ['b', 25],
    ]);
    scene.resolver.updateResolution();
    const draws = [0, 0.74, 0.75, 0.99].map((drawn) => {
      scene.drawn = drawn;
      return clusterOf(scene.channel.call('/s/m'));
    });
    expect(draws).toEqual(['cluster:a', 'cluster:a', 'cluster:b', 'cluster:b']);
  });

  it('gets the timeout of its route, or else of the listener', () => {
    const scene = new Scene().serveListener(5000).serveClusters('a');
    const limited = forwardTo('a', { maxStreamDurationMs: 2500 });
    const unlimited = forwardTo('a', { maxStreamDurationMs: 0 });
    const path = (text: string) => ({ path: { kind: 'path', text, caseSensitive: true } }) as const;
    scene.serveRoutes(
      route(limited, path('/s/limited')),
      route(unlimited, path('/s/unlimited')),
      route(forwardTo('a')),
    );
    scene.resolver.updateResolution();
    const timeout = (method: string) => scene.channel.call(method).methodConfig.timeout;
    expect(timeout('/s/limited')).toEqual({ seconds: 2, nanos: 500_000_000 });
    expect(timeout('/s/unlimited')).toBeUndefined();
    expect(timeout('/s/other')).toEqual({ seconds: 5, nanos: 0 });
    scene.serveListener(7000);
    expect(timeout('/s/other')).toEqual({ seconds: 7, nanos: 0 });
  });

  it('fails with UNAVAILABLE and a reason when no route matches', async () => {
    const scene = new Scene().serveListener().serveClusters('a').serveRoutes(byPath('/s/m', 'a'));
    scene.resolver.updateResolution();
    expect(await outcomeOf(scene.channel.call('/s/other'))).toEqual(
      unavailable(
        'No route of xds:///svc matches /s/other: add one, or see why with npx grpc-xds-cli explain' +
          ORIGIN,
      ),
    );
    expect(await outcomeOf(scene.channel.call('/s/m'))).toBe('sent');
  });

  it('fails with UNAVAILABLE and a reason when the route cannot forward', async () => {
    const scene = new Scene().serveListener();
    scene.serveRoutes(route({ kind: 'non-forwarding' }));
    scene.resolver.updateResolution();
    expect(await outcomeOf(scene.channel.call('/s/m'))).toEqual(
      unavailable(
        'The route of xds:///svc for /s/m has the action non_forwarding_action, ' +
          'which a gRPC client cannot carry out: use the action route' +
          ORIGIN,
      ),
    );
  });
});

describe('XdsResolver: clusters that calls reference', () => {
  it('stay until every call on them has been committed', () => {
    // 1. Two calls are under way when the route turns to another cluster.
    const scene = new Scene().resolved();
    const { channel } = scene;
    const first = channel.call('/s/m');
    const second = channel.call('/s/m');
    scene.routeTo('b');
    expect(channel.children).toEqual(['cluster:a', 'cluster:b']);
    expect(scene.source.watched(fakeTypes.cluster)).toEqual(['a', 'b']);
    // 2. One is committed, twice.
    first.onCommitted?.();
    first.onCommitted?.();
    expect(channel.children).toEqual(['cluster:a', 'cluster:b']);
    // 3. The other is committed, too: the cluster goes.
    const before = channel.told.length;
    second.onCommitted?.();
    expect(channel.children).toEqual(['cluster:b']);
    expect([...scene.config.clusters.keys()]).toEqual(['b']);
    expect(scene.source.watched(fakeTypes.cluster)).toEqual(['b']);
    expect(channel.told.length - before).toBe(1);
  });

  it('still get updates of their endpoints', () => {
    const scene = new Scene().resolved();
    scene.channel.call('/s/m');
    scene.routeTo('b');
    const moved = endpoints('a', '10.0.0.9');
    scene.source.serve(fakeTypes.endpoints, 'a', moved);
    const cluster = scene.config.clusters.get('a');
    expect(cluster?.ok === true && cluster.value.children).toMatchObject({ endpoints: moved });
  });

  it('are used again when the routes return to them', () => {
    const scene = new Scene().resolved();
    const call = scene.channel.call('/s/m');
    const config = scene.channel.result.lbConfig.children.get('cluster:a');
    scene.routeTo('b').routeTo('a');
    expect(scene.channel.children).toEqual(['cluster:a']);
    expect(scene.channel.result.lbConfig.children.get('cluster:a')).toBe(config);
    const before = scene.channel.told.length;
    call.onCommitted?.();
    expect(scene.channel.told).toHaveLength(before);
  });

  it('are released at the end of a call that may be retried', () => {
    const scene = new Scene().serveListener().serveClusters('a', 'b');
    const retryPolicy = {
      retryOn: ['unavailable'],
      maxAttempts: 3,
      baseIntervalMs: 25,
      maxIntervalMs: 250,
    } as const;
    scene.serveRoutes(route(forwardTo('a', { retryPolicy })));
    scene.resolver.updateResolution();
    const ended = scene.channel.call('/s/m');
    const committed = scene.channel.call('/s/m');
    scene.routeTo('b');
    committed.onCommitted?.();
    endCall(committed);
    expect(scene.channel.children).toEqual(['cluster:a', 'cluster:b']);
    endCall(ended);
    ended.onCommitted?.();
    expect(scene.channel.children).toEqual(['cluster:b']);
  });

  it('are removed together in one publication', () => {
    const scene = new Scene().resolved();
    scene.routeTo([
      ['a', 1],
      ['b', 1],
    ]);
    const before = scene.channel.told.length;
    scene.routeTo('c');
    expect(scene.channel.children).toEqual(['cluster:c']);
    expect(scene.channel.told.length - before).toBe(2);
  });

  it('are not referenced by a call that was not sent', async () => {
    const scene = new Scene().serveListener().serveClusters('a').serveRoutes(byPath('/s/m', 'a'));
    scene.resolver.updateResolution();
    await outcomeOf(scene.channel.call('/s/other'));
    scene.serveRoutes();
    expect(scene.channel.children).toEqual([]);
  });

  it('stay when a selector is released twice', () => {
    const scene = new Scene().resolved();
    const { selector } = scene.channel.result;
    selector.unref();
    selector.unref();
    expect(scene.channel.children).toEqual(['cluster:a']);
    expect(scene.source.watched(fakeTypes.cluster)).toEqual(['a']);
    scene.routeTo([
      ['a', 1],
      ['b', 1],
    ]);
    expect(scene.channel.children).toEqual(['cluster:a', 'cluster:b']);
  });

  it('are not referenced by a selector that the channel did not accept', () => {
    const scene = new Scene().resolved();
    scene.channel.accepts = false;
    scene.routeTo('b');
    scene.channel.accepts = true;
    scene.routeTo('c');
    expect(scene.channel.children).toEqual(['cluster:c']);
  });
});

describe('XdsResolver: a target that is lost', () => {
  it('fails new calls with the reason, and keeps the cluster of in-flight calls', async () => {
    const scene = new Scene().resolved();
    scene.channel.call('/s/m');
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('Listener "svc" was deleted'));
    expect(scene.channel.children).toEqual(['cluster:a']);
    expect(scene.channel.result.note).toEqual(lasting('Listener "svc" was deleted'));
    expect(await outcomeOf(scene.channel.call('/s/m'))).toEqual(
      unavailable(lasting('Listener "svc" was deleted')),
    );
  });

  it('serves again when the target is usable again, with the routes compiled before', async () => {
    const scene = new Scene().resolved();
    const before = scene.channel.call('/s/m').methodConfig;
    const { config } = scene;
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('gone'));
    scene.source.serve(fakeTypes.listener, 'svc', config.listener);
    const call = scene.channel.call('/s/m');
    expect(call.methodConfig).toBe(before);
    expect(await outcomeOf(call)).toBe('sent');
    expect(scene.channel.result.note).toBe('');
  });

  it('does not report an error on a request while there is a config', () => {
    const scene = new Scene().resolved();
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('gone'));
    const before = scene.channel.told.length;
    scene.resolver.updateResolution();
    scene.clock.flush();
    expect(scene.channel.told).toHaveLength(before);
  });
});

describe('XdsResolver: events', () => {
  it('report each new config, and the error when it is lost', () => {
    const recorder = new DiagnosticRecorder('grpc-xds:config-published', 'grpc-xds:config-failed');
    const scene = new Scene().resolved();
    const about = { nodeId: 'n1', target: 'xds:///svc' };
    expect(recorder.take()).toEqual([
      ['grpc-xds:config-published', { ...about, listener: 'svc', clusters: 1 }],
    ]);
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('gone'));
    expect(recorder.take()).toEqual([
      ['grpc-xds:config-failed', { ...about, error: expect.stringContaining('gone') }],
    ]);
  });
});

describe('XdsResolver: the end', () => {
  it('releases watches and client, and reports nothing more', () => {
    const scene = new Scene().resolved();
    const before = scene.channel.told.length;
    scene.resolver.destroy();
    scene.resolver.destroy();
    expect([scene.source.watchCount, scene.clientHolds]).toEqual([0, 0]);
    scene.routeTo('b');
    scene.clock.flush();
    expect(scene.channel.told).toHaveLength(before);
  });

  it('makes the release of earlier calls and of the old selector ineffective', () => {
    const scene = new Scene().resolved();
    const early = scene.channel.call('/s/m');
    scene.resolver.destroy();
    const late = scene.channel.call('/s/m');
    early.onCommitted?.();
    late.onCommitted?.();
    scene.channel.close();
    expect(scene.channel.told).toHaveLength(1);
    expect([scene.source.watchCount, scene.clientHolds]).toEqual([0, 0]);
  });

  it('may be followed by another start, which reads the bootstrap again', () => {
    const scene = new Scene().resolved();
    const old = scene.channel.call('/s/m');
    scene.resolver.destroy();
    scene.routeTo('b');
    scene.resolver.updateResolution();
    expect(scene.bootstrapLoads).toBe(2);
    expect(scene.clientHolds).toBe(1);
    expect(scene.channel.children).toEqual(['cluster:b']);
    old.onCommitted?.();
    expect(scene.channel.children).toEqual(['cluster:b']);
    expect(clusterOf(scene.channel.call('/s/m'))).toBe('cluster:b');
    scene.resolver.destroy();
    expect([scene.source.watchCount, scene.clientHolds]).toEqual([0, 0]);
  });

  it('may happen during a publication', () => {
    const scene = new Scene();
    scene.channel.onTold = () => scene.resolver.destroy();
    scene.resolved();
    expect(scene.channel.told).toHaveLength(1);
    expect([scene.source.watchCount, scene.clientHolds]).toEqual([0, 0]);
  });

  it('may happen while the channel receives the first selector, before there is a config', () => {
    const scene = new Scene();
    scene.channel.onWait = () => scene.resolver.destroy();
    scene.resolved();
    expect(scene.channel.told).toEqual([]);
    expect([scene.bootstrapLoads, scene.source.watchCount, scene.clientHolds]).toEqual([0, 0, 0]);
  });

  it('may happen while a cluster is removed', () => {
    const scene = new Scene().resolved();
    const call = scene.channel.call('/s/m');
    scene.routeTo('b');
    const before = scene.channel.told.length;
    scene.source.run(() => {
      call.onCommitted?.();
      scene.resolver.destroy();
    });
    expect(scene.channel.told).toHaveLength(before);
    expect([scene.source.watchCount, scene.clientHolds]).toEqual([0, 0]);
  });
});

describe('XdsResolver: calls on the previous selector, when resolution starts again', () => {
  const retryPolicy = {
    retryOn: ['unavailable'],
    maxAttempts: 3,
    baseIntervalMs: 25,
    maxIntervalMs: 250,
  } as const;

  /** A channel that was idle while the routes turned from `a` to `b`, and has begun to resolve again. */
  function awakened(target = forwardTo('b')): Scene {
    const scene = new Scene().resolved();
    scene.resolver.destroy();
    scene.serveRoutes(route(target));
    return scene;
  }

  /** Starts to resolve, while the listener is pending. */
  function wake(scene: Scene): void {
    scene.source.forget(fakeTypes.listener, 'svc');
    scene.resolver.updateResolution();
  }

  const patient = () => {
    const metadata = new Metadata();
    metadata.setOptions({ waitForReady: true });
    return metadata;
  };

  it('wait for the new config and are routed by it', async () => {
    const scene = awakened();
    wake(scene);
    const call = scene.channel.call('/s/m');
    const outcome = outcomeOf(call);
    expect(clusterOf(call)).toBe('');
    scene.serveListener();
    expect(clusterOf(call)).toBe('cluster:b');
    expect(await outcome).toBe('sent');
    expect(scene.channel.children).toEqual(['cluster:b']);
  });

  it('reference their new cluster until they are committed', async () => {
    const scene = awakened();
    wake(scene);
    const call = scene.channel.call('/s/m');
    const outcome = outcomeOf(call);
    scene.serveListener();
    await outcome;
    scene.routeTo('c');
    expect(scene.channel.children).toEqual(['cluster:b', 'cluster:c']);
    call.onCommitted?.();
    expect(scene.channel.children).toEqual(['cluster:c']);
  });

  it('get the retry policy of the new route', async () => {
    const scene = awakened(forwardTo('b', { retryPolicy }));
    wake(scene);
    const call = scene.channel.call('/s/m');
    const outcome = outcomeOf(call);
    scene.serveListener();
    await outcome;
    expect(call.methodConfig.retryPolicy?.maxAttempts).toBe(3);
  });

  it('get the timeout of the new route, counted from their start', async () => {
    const scene = awakened(forwardTo('b', { maxStreamDurationMs: 2000 }));
    wake(scene);
    const early = scene.channel.call('/s/m');
    const late = outcomeOf(scene.channel.call('/s/m'));
    expect(early.methodConfig).toEqual({ name: [] });
    const outcome = outcomeOf(early);
    scene.clock.advance(2000);
    scene.serveListener();
    scene.clock.advance(0);
    expect(Reflect.get(early.pickInformation, 'endedPick')).toMatchObject({
      status: { code: Status.DEADLINE_EXCEEDED },
    });
    await Promise.all([outcome, late]);
  });

  it('fail as others do when no new route matches', async () => {
    const scene = awakened();
    scene.serveRoutes(byPath('/s/other', 'b'));
    wake(scene);
    const outcome = outcomeOf(scene.channel.call('/s/m'));
    scene.serveListener();
    expect(await outcome).toEqual(
      unavailable(
        'No route of xds:///svc matches /s/m: add one, or see why with npx grpc-xds-cli explain' +
          ORIGIN,
      ),
    );
  });

  it('reference nothing when they end before there is a config', () => {
    const scene = awakened();
    wake(scene);
    endCall(scene.channel.call('/s/m'));
    scene.serveListener();
    scene.routeTo('c');
    expect(scene.channel.children).toEqual(['cluster:c']);
  });

  it('list the pending resources when their deadline has passed', () => {
    const scene = awakened();
    wake(scene);
    scene.source.waits.push('Listener "svc": waiting for 1.0 s: the server has not sent it');
    const expired = {
      code: Status.DEADLINE_EXCEEDED,
      details: 'Deadline exceeded after 1.0s,waiting for metadata filters',
      metadata: new Metadata(),
    };
    const [told] = filtersOf(scene.channel.call('/s/m')).map((f) => f.receiveTrailers(expired));
    expect(told?.details).toBe(
      'Deadline exceeded after 1.0s,waiting for the configuration; ' +
        'Listener "svc": waiting for 1.0 s: the server has not sent it',
    );
  });

  it('list three causes at most, each resource once', () => {
    const scene = awakened();
    wake(scene);
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('Listener "svc": refused'));
    scene.clock.flush();
    scene.source.waits.push('Listener "svc": waiting for 1.0 s: refused; next attempt in 1.0 s');
    for (const name of ['a', 'b', 'c']) {
      scene.source.waits.push(`Cluster "${name}": waiting for 1.0 s: not sent`);
    }
    const expired = {
      code: Status.DEADLINE_EXCEEDED,
      details: 'Deadline exceeded after 1.0s,waiting for metadata filters',
      metadata: new Metadata(),
    };
    const call = scene.channel.call('/s/m', patient());
    const [told] = filtersOf(call).map((f) => f.receiveTrailers(expired));
    expect(withoutSince(told?.details ?? '')).toBe(
      'Deadline exceeded after 1.0s,waiting for the configuration; Listener "svc": refused; ' +
        'Cluster "a": waiting for 1.0 s: not sent; Cluster "b": waiting for 1.0 s: not sent',
    );
  });

  it('that wait for ready also have the error when their deadline has passed', () => {
    const scene = awakened();
    wake(scene);
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('Listener "svc" does not exist'));
    scene.clock.flush();
    const expired = {
      code: Status.DEADLINE_EXCEEDED,
      details: 'Deadline exceeded after 1.0s,waiting for metadata filters',
      metadata: new Metadata(),
    };
    const call = scene.channel.call('/s/m', patient());
    const [told] = filtersOf(call).map((f) => f.receiveTrailers(expired));
    expect(withoutSince(told?.details ?? '')).toBe(
      'Deadline exceeded after 1.0s,waiting for the configuration; Listener "svc" does not exist',
    );
  });

  it('list at most three pending resources when their deadline has passed', () => {
    const scene = awakened();
    wake(scene);
    for (let i = 0; i < 1000; i++) scene.source.waits.push(`Cluster "c${i}": waiting for 1.0 s`);
    const expired = {
      code: Status.DEADLINE_EXCEEDED,
      details: 'Deadline exceeded after 1.0s,waiting for metadata filters',
      metadata: new Metadata(),
    };
    const [told] = filtersOf(scene.channel.call('/s/m')).map((f) => f.receiveTrailers(expired));
    expect(told?.details.match(/Cluster "/g)).toHaveLength(3);
  });

  it('release their cluster when they end after that', async () => {
    const scene = awakened();
    wake(scene);
    const call = scene.channel.call('/s/m');
    const filters = filtersOf(call);
    const sent = filters.map((filter) => filter.sendMetadata(Promise.resolve(new Metadata())));
    scene.serveListener();
    await Promise.all(sent);
    scene.routeTo('c');
    expect(scene.channel.children).toEqual(['cluster:b', 'cluster:c']);
    const status = { code: Status.CANCELLED, details: 'cancelled', metadata: new Metadata() };
    for (const filter of filters) expect(filter.receiveTrailers(status)).toBe(status);
    expect(scene.channel.children).toEqual(['cluster:c']);
  });

  it('fail with the reason when there is no config, also later ones', async () => {
    const scene = awakened();
    wake(scene);
    const early = outcomeOf(scene.channel.call('/s/m'));
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('Listener "svc" does not exist'));
    scene.clock.flush();
    const reason = unavailable(lasting('Listener "svc" does not exist'));
    expect(await early).toEqual(reason);
    expect(await outcomeOf(scene.channel.call('/s/m'))).toEqual(reason);
  });

  it('fail with the reason when the bootstrap has become invalid, until it is valid again', async () => {
    const scene = awakened();
    scene.bootstrap = err({ message: 'the bootstrap is broken' });
    wake(scene);
    const early = outcomeOf(scene.channel.call('/s/m'));
    scene.clock.flush();
    expect(await early).toEqual(unavailable('the bootstrap is broken'));
    scene.bootstrap = ok(bootstrap);
    scene.resolver.updateResolution();
    const late = outcomeOf(scene.channel.call('/s/m'));
    scene.serveListener();
    expect(await late).toBe('sent');
  });

  it('wait during an error when they wait for ready', async () => {
    const scene = awakened();
    wake(scene);
    const early = outcomeOf(scene.channel.call('/s/m', patient()));
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('gone'));
    scene.clock.flush();
    const late = outcomeOf(scene.channel.call('/s/m', patient()));
    expect(scene.source.hurrying).toBe(1);
    scene.serveListener();
    expect(await Promise.all([early, late])).toEqual(['sent', 'sent']);
    expect(scene.source.hurrying).toBe(0);
  });

  it('fail, all of them, when the channel is closed', async () => {
    const scene = awakened();
    wake(scene);
    const outcomes = [
      outcomeOf(scene.channel.call('/s/m')),
      outcomeOf(scene.channel.call('/s/m', patient())),
    ];
    scene.resolver.destroy();
    const reason = unavailable('The channel was closed before the call was sent');
    expect(await Promise.all(outcomes)).toEqual([reason, reason]);
    expect([scene.source.watchCount, scene.clientHolds]).toEqual([0, 0]);
  });

  it('wait also when the target was lost before', async () => {
    const scene = new Scene().resolved();
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('gone'));
    scene.resolver.destroy();
    wake(scene);
    const outcome = outcomeOf(scene.channel.call('/s/m'));
    scene.serveListener();
    expect(await outcome).toBe('sent');
  });
});

describe('XdsResolver: a channel that throws', () => {
  it('keeps no cluster for the config it did not accept, and gets the next one', () => {
    const scene = new Scene().serveListener().serveClusters('a', 'b').routeTo('a');
    scene.channel.accepts = false;
    scene.channel.onTold = () => {
      throw new Error('The channel threw');
    };
    expect(() => scene.resolver.updateResolution()).toThrow('The channel threw');
    scene.channel.accepts = true;
    scene.channel.onTold = () => {};
    scene.routeTo('b');
    expect(clusterOf(scene.channel.call('/s/m'))).toBe('cluster:b');
    expect(scene.source.watched(fakeTypes.cluster)).toEqual(['b']);
  });
});
