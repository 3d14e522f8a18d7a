import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import type { ClusterResult } from '../../src/dependency-manager/xds-config';
import { CallCredentials, Metadata } from '../../src/grpc-js';
import { FilterStates } from '../../src/http-filters/filter-states';
import { meteredHeaders } from '../../src/http-filters/metered-headers';
import { callAttributes } from '../../src/lb/call-attributes';
import { MatchMeter } from '../../src/resources/matching/match-meter';
import { ClusterChoice } from '../../src/resolver/cluster-choice';
import { ClusterRefs, type ClusterRef } from '../../src/resolver/cluster-refs';
import { FilteredCall } from '../../src/resolver/filtered-call';
import { createHandle } from '../../src/util/handle';
import { silentLogger } from '../../src/util/logger';
import { err, ok } from '../../src/util/result';
import { edsCluster, weighted } from '../support/xds-builders';

/** A route with the clusters `a`, which is drawn, and `b`. */
class Scene {
  /** The clusters that are referenced. */
  readonly held = new Set<string>();
  readonly refs = new ClusterRefs(
    (cluster) => {
      this.held.add(cluster);
      return createHandle(() => this.held.delete(cluster));
    },
    (cluster) => ({ policyName: cluster }),
    () => {},
  );
  private readonly acquired: ClusterRef[] = [];
  private nextHash = 7n;
  readonly choice = new ClusterChoice(
    weighted(['a', 1], ['b', 1]),
    (name) => {
      const ref = this.refs.acquire(name);
      this.acquired.push(ref);
      return ref;
    },
    [],
  );

  /** The clusters of the config. */
  readonly clusters = new Map<string, ClusterResult>();

  releaseRoute(): void {
    for (const ref of this.acquired) ref.release();
  }

  call(): FilteredCall {
    const drawn = this.choice.draw(() => 0);
    return new FilteredCall({
      ...{ choice: this.choice, drawn, authorityRewrite: undefined },
      hash: { compute: () => this.nextHash++ },
      meter: new MatchMeter(DEFAULT_LIMITS, silentLogger),
      channel: { states: new FilterStates(), cluster: (name) => this.clusters.get(name) },
    });
  }
}

/** The attributes as pickers find them. */
function attributesOf(call: object) {
  // The grpc-js border: typed as strings, passed by reference.
  const extraPickInfo = call as Record<string, string>;
  return callAttributes({ metadata: new Metadata(), extraPickInfo });
}

describe('the steps of the HTTP filters of a call', () => {
  const read = (call: FilteredCall, filter: number) => {
    const headers = new Metadata();
    headers.set('cookie', 'a'.repeat(1_000_000));
    return meteredHeaders(headers, {
      ...{ method: '/s/m', headers, cluster: `cluster:${filter}` },
      routing: call,
    }).get('cookie');
  };

  it('add up over all filters, and fail the call beyond the limit', () => {
    const call = new Scene().call();
    for (let filter = 0; filter < 9; filter++) expect(read(call, filter)).toHaveLength(1);
    expect(() => read(call, 10)).toThrow(
      'HTTP filters cannot match the headers of the call: matching its path and headers takes more than 10000000 steps ' +
        '(limit maxMatchStepsPerCall), at header "cookie" of 1000000 characters',
    );
  });

  it('are counted for each call', () => {
    const scene = new Scene();
    for (let i = 0; i < 20; i++) expect(read(scene.call(), 0)).toHaveLength(1);
  });
});

describe('FilteredCall', () => {
  it('has the cluster for pickers, and the same hash each time', () => {
    const attributes = attributesOf(new Scene().call());
    expect(attributes?.cluster).toBe('cluster:a');
    expect([attributes?.requestHash?.(), attributes?.requestHash?.()]).toEqual([7n, 7n]);
  });

  it('prefers no endpoint unless a filter does', () => {
    const call = new Scene().call();
    expect(attributesOf(call)?.overrideHost).toBeUndefined();
    call.prefer([]);
    expect(attributesOf(call)?.overrideHost?.addresses).toEqual([]);
    call.prefer(['10.0.0.1:80']);
    expect(attributesOf(call)?.overrideHost?.addresses).toEqual(['10.0.0.1:80']);
  });

  it('prefers the picked endpoint after a pick', () => {
    const call = new Scene().call();
    call.prefer(['10.0.0.1:80']);
    expect(call.picked).toBeUndefined();
    attributesOf(call)?.overrideHost?.onPicked(['10.0.0.2:80', '[::1]:80']);
    expect(call.picked).toEqual(['10.0.0.2:80', '[::1]:80']);
    expect(attributesOf(call)?.overrideHost?.addresses).toEqual(['10.0.0.2:80', '[::1]:80']);
  });

  it('goes to another cluster of its route, and references that one instead', () => {
    const scene = new Scene();
    const call = scene.call();
    const info = call.toCallInfo('/a.B/C', new Metadata());
    expect(call.chooseCluster('cluster:b')).toBe(true);
    expect([info.cluster, call.cluster]).toEqual(['b', 'cluster:b']);
    expect({ ...info }.cluster).toBe('b');
    scene.releaseRoute();
    expect([...scene.held]).toEqual(['b']);
    call.release();
    call.release();
    expect([...scene.held]).toEqual([]);
  });

  it('may choose the cluster it goes to anyway', () => {
    const scene = new Scene();
    const call = scene.call();
    expect(call.chooseCluster('cluster:a')).toBe(true);
    scene.releaseRoute();
    expect([...scene.held]).toEqual(['a']);
  });

  it.each(['cluster:c', 'b', '', '__proto__'])('cannot go to %j', (name) => {
    const call = new Scene().call();
    expect(call.chooseCluster(name)).toBe(false);
    expect(call.cluster).toBe('cluster:a');
  });

  it('cannot go to a cluster that was removed with its route', () => {
    const scene = new Scene();
    const call = scene.call();
    scene.releaseRoute();
    expect(call.chooseCluster('cluster:b')).toBe(false);
    expect([...scene.held]).toEqual(['a']);
  });

  it('cannot go elsewhere after the release of its cluster', () => {
    const scene = new Scene();
    const call = scene.call();
    call.release();
    expect(call.chooseCluster('cluster:b')).toBe(false);
    scene.releaseRoute();
    expect([...scene.held]).toEqual([]);
  });

  it('has the metadata of the cluster that it goes to', () => {
    const scene = new Scene();
    const metadata = new Map([['k', { kind: 'audience', url: 'x' } as const]]);
    const children = { kind: 'endpoints', endpoints: undefined, resolutionNote: '' } as const;
    scene.clusters.set('a', ok({ resource: { ...edsCluster('a'), metadata }, children }));
    const call = scene.call();
    expect(call.clusterMetadata()).toEqual(ok(metadata));
    call.chooseCluster('cluster:b');
    expect(call.clusterMetadata()).toEqual(err('not part of the xDS config'));
    scene.clusters.set('b', err('does not exist'));
    expect(call.clusterMetadata()).toEqual(err('does not exist'));
    scene.clusters.set('b', ok({ resource: edsCluster('b'), children }));
    expect(call.clusterMetadata()).toEqual(ok(undefined));
  });

  it('has the call credentials of all filters for pickers', async () => {
    const call = new Scene().call();
    expect(attributesOf(call)?.callCredentials).toBeUndefined();
    for (const name of ['a', 'b']) {
      call.addCallCredentials(
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
