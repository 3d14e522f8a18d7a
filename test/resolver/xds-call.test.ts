import type { ClusterResource } from '../../src/resources/cluster/cluster';
import { CallCredentials, Metadata } from '../../src/grpc-js';
import {
  meteredHeaders,
  type CallRouting,
  type FilterCall,
  type PreparedFilter,
} from '../../src/http-filters/client-filter';
import { callAttributes } from '../../src/lb/call-attributes';
import type { ClusterRef } from '../../src/resolver/cluster-refs';
import { compileRoute } from '../../src/resolver/compiled-route';
import { XdsCall } from '../../src/resolver/xds-call';
import { createHandle } from '../../src/util/handle';
import { err, ok, type Result } from '../../src/util/result';
import { statusOf } from '../http-filters/calls';
import { clusterRefs, clustersOf, routingChannel } from '../support/routed-calls';
import { edsCluster, forwardTo, route, virtualHost } from '../support/xds-builders';

/** A route with the clusters `a`, which is drawn, and `b`. */
class Scene {
  /** The clusters that are referenced. */
  readonly held = new Set<string>();
  /** The clusters of the config. */
  readonly clusters = new Map<string, Result<ClusterResource, string>>();
  private readonly refs = clusterRefs((cluster) => {
    this.held.add(cluster);
    return createHandle(() => this.held.delete(cluster));
  });
  private readonly acquired: ClusterRef[] = [];
  private nextHash = 7n;
  private readonly channel = routingChannel();
  private readonly weights = [
    ['a', 1],
    ['b', 1],
  ] as const;
  private readonly route = compileRoute(route(forwardTo(this.weights)), {
    virtualHost: virtualHost([]),
    maxStreamDurationMs: undefined,
    defaultAuthority: 'svc',
    filters: [],
    refOf: (name) => {
      const ref = this.refs.acquire(name);
      this.acquired.push(ref);
      return ref;
    },
  });

  releaseRoute(): void {
    for (const ref of this.acquired) ref.release();
  }

  /** A call with one filter, which does nothing of its own. */
  call() {
    const ref = this.route.choice?.draw(() => 0).ref;
    if (ref === undefined) throw new Error('the route has no cluster');
    const call = new XdsCall(this.channel, '/s/m');
    call.routeTo(this.route, ref, { compute: () => this.nextHash++ });
    let created: FilterCall | undefined;
    const filter: PreparedFilter = {
      name: 'f',
      factory: {
        create(info) {
          created = info;
          return undefined;
        },
        describe: () => ({}),
      },
    };
    call.addFilters({
      filters: [filter],
      method: '/s/m',
      headers: new Metadata(),
      clusters: clustersOf((name) => this.clusters.get(name)),
    });
    const { affinity, routing } = created ?? {};
    if (created === undefined || affinity === undefined || routing === undefined) {
      throw new Error('the filter was not created for a call of a channel');
    }
    return { call, info: created, affinity, routing };
  }
}

/** The attributes as pickers find them. */
function attributesOf({ pickInformation: extraPickInfo }: XdsCall) {
  return callAttributes({ metadata: new Metadata(), extraPickInfo });
}

describe('the steps of the HTTP filters of a call', () => {
  const read = (routing: CallRouting, filter: number) => {
    const headers = new Metadata();
    headers.set('cookie', 'a'.repeat(1_000_000));
    return meteredHeaders(headers, {
      method: '/s/m',
      headers,
      cluster: `cluster:${filter}`,
      routing,
    }).get('cookie');
  };

  it('add up over all filters, and fail the call beyond the limit', () => {
    const { routing } = new Scene().call();
    for (let filter = 0; filter < 9; filter++) expect(read(routing, filter)).toHaveLength(1);
    expect(() => read(routing, 10)).toThrow(
      'HTTP filters cannot match the headers of the call: matching its path and headers takes more than 10000000 steps ' +
        '(limit maxMatchStepsPerCall), at header "cookie" of 1000000 characters',
    );
  });

  it('are counted for each call', () => {
    const scene = new Scene();
    for (let i = 0; i < 20; i++) expect(read(scene.call().routing, 0)).toHaveLength(1);
  });
});

describe('XdsCall', () => {
  it('has the cluster for pickers, and the same hash each time', () => {
    const attributes = attributesOf(new Scene().call().call);
    expect(attributes?.cluster).toBe('cluster:a');
    expect([attributes?.requestHash?.(), attributes?.requestHash?.()]).toEqual([7n, 7n]);
  });

  it('prefers no endpoint unless a filter does', () => {
    const { call, affinity } = new Scene().call();
    expect(attributesOf(call)?.overrideHost).toBeUndefined();
    affinity.prefer([]);
    expect(attributesOf(call)?.overrideHost?.addresses).toEqual([]);
    affinity.prefer(['10.0.0.1:80']);
    expect(attributesOf(call)?.overrideHost?.addresses).toEqual(['10.0.0.1:80']);
  });

  it('prefers the picked endpoint after a pick', () => {
    const { call, affinity } = new Scene().call();
    affinity.prefer(['10.0.0.1:80']);
    expect(affinity.picked).toBeUndefined();
    attributesOf(call)?.overrideHost?.onPicked(['10.0.0.2:80', '[::1]:80']);
    expect(affinity.picked).toEqual(['10.0.0.2:80', '[::1]:80']);
    expect(attributesOf(call)?.overrideHost?.addresses).toEqual(['10.0.0.2:80', '[::1]:80']);
  });

  it('goes to another cluster of its route, and references that one instead', () => {
    const scene = new Scene();
    const { call, affinity, info } = scene.call();
    expect(affinity.chooseCluster('cluster:b')).toBe(true);
    expect([info.cluster, affinity.cluster]).toEqual(['b', 'cluster:b']);
    expect({ ...info }.cluster).toBe('b');
    scene.releaseRoute();
    expect([...scene.held]).toEqual(['b']);
    call.onCommitted();
    call.createFilter().receiveTrailers(statusOf(0));
    expect([...scene.held]).toEqual([]);
  });

  it('may choose the cluster it goes to anyway', () => {
    const scene = new Scene();
    const { affinity } = scene.call();
    expect(affinity.chooseCluster('cluster:a')).toBe(true);
    scene.releaseRoute();
    expect([...scene.held]).toEqual(['a']);
  });

  it.each(['cluster:c', 'b', '', '__proto__'])('cannot go to %j', (name) => {
    const { affinity } = new Scene().call();
    expect(affinity.chooseCluster(name)).toBe(false);
    expect(affinity.cluster).toBe('cluster:a');
  });

  it('cannot go to a cluster that was removed with its route', () => {
    const scene = new Scene();
    const { affinity } = scene.call();
    scene.releaseRoute();
    expect(affinity.chooseCluster('cluster:b')).toBe(false);
    expect([...scene.held]).toEqual(['a']);
  });

  it('cannot go elsewhere after the release of its cluster', () => {
    const scene = new Scene();
    const { call, affinity } = scene.call();
    call.onCommitted();
    expect(affinity.chooseCluster('cluster:b')).toBe(false);
    scene.releaseRoute();
    expect([...scene.held]).toEqual([]);
  });

  it('has the metadata of the cluster that it goes to', () => {
    const scene = new Scene();
    const metadata = new Map([['k', { kind: 'audience', url: 'x' } as const]]);
    scene.clusters.set('a', ok({ ...edsCluster('a'), metadata }));
    const { affinity, routing } = scene.call();
    expect(routing.clusterMetadata()).toEqual(ok(metadata));
    affinity.chooseCluster('cluster:b');
    expect(routing.clusterMetadata()).toEqual(err('not part of the xDS config'));
    scene.clusters.set('b', err('does not exist'));
    expect(routing.clusterMetadata()).toEqual(err('does not exist'));
    scene.clusters.set('b', ok(edsCluster('b')));
    expect(routing.clusterMetadata()).toEqual(ok(undefined));
  });

  it('has the call credentials of all filters for pickers', async () => {
    const { call, routing } = new Scene().call();
    expect(attributesOf(call)?.callCredentials).toBeUndefined();
    for (const name of ['a', 'b']) {
      routing.addCallCredentials(
        CallCredentials.createFromMetadataGenerator((_options, callback) => {
          const metadata = new Metadata();
          metadata.set(name, '1');
          callback(null, metadata);
        }),
      );
    }
    const options = { method_name: '', service_url: '' };
    const metadata = await attributesOf(call)?.callCredentials?.generateMetadata(options);
    expect(metadata?.getMap()).toEqual({ a: '1', b: '1' });
  });
});
