import type { ServedResources } from '../../../src/control-plane/ads/resource-view';
import { ViewChange } from '../../../src/control-plane/ads/resource-view';
import type { ClientNode } from '../../../src/control-plane/client-state';
import { KubernetesSource } from '../../../packages/kubernetes/src/kubernetes-source';
import type { StoredObjects } from '../../../packages/kubernetes/src/stored-objects';
import type { PolicyProblem } from '../../../packages/kubernetes/src/translate/service-policy';
import {
  clusterKind,
  endpointKind,
  listenerKind,
  resourceKinds,
  routeKind,
  type ResourceKind,
  type SnapshotResource,
} from '../../../src/control-plane/resource';
import { ClusterLoadAssignment } from '../../../src/wire/generated/envoy/config/endpoint/v3/endpoint';
import { Listener } from '../../../src/wire/generated/envoy/config/listener/v3/listener';
import { RouteConfiguration } from '../../../src/wire/generated/envoy/config/route/v3/route';
import type { Route } from '../../../src/wire/generated/envoy/config/route/v3/route_components';
import { HttpConnectionManager } from '../../../src/wire/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager';
import { TimeSlices } from '../../../src/util/time-slices';
import { FakeClock } from '../../support/fake-clock';
import {
  endpointManifest as endpoint,
  nodeManifest,
  objectsOf,
  putManifests,
  serviceManifest as service,
  sliceManifest as slice,
  type Json,
} from '../../support/kubernetes-manifests';

const nodeOf = (metadata: Json = {}, zone = ''): ClientNode => ({
  id: 'client',
  cluster: '',
  userAgentName: '',
  userAgentVersion: '',
  clientFeatures: [],
  locality: zone === '' ? undefined : { region: '', zone, subZone: '' },
  metadata,
});

const NO_CALLER = nodeOf();

/** A source of the objects of manifests, which has applied them. */
class Scene {
  readonly objects: StoredObjects;
  readonly source: KubernetesSource;
  readonly problems: [string, readonly PolicyProblem[]][] = [];
  notifications = 0;

  constructor(...manifests: readonly Json[]) {
    this.objects = objectsOf(...manifests);
    this.source = new KubernetesSource({
      objects: this.objects,
      onProblems: (key, problems) => this.problems.push([key, problems]),
    });
    this.source.watch(() => this.notifications++);
    this.apply();
  }

  /** Stores objects and applies that some services have changed; by default all. */
  apply(manifests: readonly Json[] = [], services = [...this.objects.services.keys()]): void {
    putManifests(this.objects, ...manifests);
    this.source.apply({ services: new Set(services) });
  }

  served(node = NO_CALLER): ServedResources {
    return this.source.resourcesFor(node);
  }

  versions(node = NO_CALLER): readonly (string | undefined)[] {
    return resourceKinds.map(({ typeUrl }) => this.served(node).set(typeUrl)?.version);
  }

  names(kind: ResourceKind, node = NO_CALLER): readonly string[] {
    return [...(this.served(node).set(kind.typeUrl)?.byName.keys() ?? [])].sort();
  }

  find(kind: ResourceKind, name: string, node = NO_CALLER) {
    return this.served(node).set(kind.typeUrl)?.byName.get(name);
  }

  routesOf(name: string, node = NO_CALLER): readonly Route[] {
    const { value = new Uint8Array() } = this.find(routeKind, name, node) ?? {};
    return RouteConfiguration.decode(value).virtualHosts.flatMap(({ routes }) => routes);
  }

  /** The clusters of the routes of a RouteConfiguration, in their order. */
  clustersIn(name: string, node = NO_CALLER): readonly string[] {
    return this.routesOf(name, node).flatMap(({ action }) =>
      action?.$case === 'route' && action.value.clusterSpecifier?.$case === 'cluster'
        ? [action.value.clusterSpecifier.value]
        : [],
    );
  }

  /** The priorities of `a` in the namespace `shop`, each as its zones. */
  zones(node = NO_CALLER): readonly string[] {
    const resource = this.find(endpointKind, clusterOf('a'), node);
    const { endpoints } = ClusterLoadAssignment.decode(resource?.value ?? new Uint8Array());
    const zones: string[] = [];
    for (const { priority, locality } of endpoints) {
      zones[priority] = `${zones[priority] ?? ''}${locality?.zone ?? ''}`;
    }
    return zones;
  }
}

const clusterOf = (name: string, namespace = 'shop') =>
  `outbound|80||${name}.${namespace}.svc.cluster.local`;

/** A route of the service `a`, all of whose calls go to another one. */
const routeManifest = (namespace: string, backend: string, to = namespace): Json => ({
  kind: 'GRPCRoute',
  metadata: { name: 'r', namespace },
  spec: {
    parentRefs: [{ group: '', kind: 'Service', namespace: 'shop', name: 'a' }],
    rules: [{ backendRefs: [{ name: backend, namespace: to, port: 80 }] }],
  },
});

function filtersOf(listener: SnapshotResource | undefined): readonly string[] {
  const { apiListener } = Listener.decode(listener?.value ?? new Uint8Array());
  const manager = apiListener?.apiListener?.value ?? new Uint8Array();
  return HttpConnectionManager.decode(manager).httpFilters.map(({ name }) => name);
}

const changed = (previous: ServedResources, next: ServedResources, kind: ResourceKind) =>
  [...new ViewChange(previous, next).changedNames(kind.typeUrl)].sort();

const zoned = (...zones: readonly string[]) =>
  zones.map((zone, i) => endpoint(`10.0.0.${i + 1}`, { zone, nodeName: `node-${zone}` }));

describe('KubernetesSource', () => {
  it('serves each TCP port under the names that istiod gives it', () => {
    const scene = new Scene(
      service('a', {
        ports: [
          { name: 'grpc', port: 80, appProtocol: 'kubernetes.io/h2c' },
          { name: 'admin', port: 81, protocol: 'TCP' },
          { name: 'dns', port: 53, protocol: 'UDP' },
        ],
      }),
    );
    expect(scene.names(listenerKind)).toEqual([
      'a.shop.svc.cluster.local:80',
      'a.shop.svc.cluster.local:81',
      'a.shop.svc:80',
      'a.shop.svc:81',
      'a.shop:80',
      'a.shop:81',
    ]);
    const clusters = [clusterOf('a'), 'outbound|81||a.shop.svc.cluster.local'];
    for (const kind of [clusterKind, endpointKind, routeKind]) {
      expect(scene.names(kind)).toEqual(clusters);
    }
  });

  it('serves an external service without endpoints', () => {
    const scene = new Scene(service('a', { type: 'ExternalName', externalName: 'b.example' }));
    expect(scene.names(clusterKind)).toEqual([clusterOf('a')]);
    expect(scene.names(endpointKind)).toEqual([]);
  });

  it('has names pending until the first change, and none afterwards', () => {
    const source = new KubernetesSource({ objects: objectsOf() });
    const before = source.resourcesFor(NO_CALLER);
    expect(before.isPending(listenerKind.typeUrl, 'a')).toBe(true);
    source.apply({ services: new Set() });
    const after = source.resourcesFor(NO_CALLER);
    expect(after.isPending(listenerKind.typeUrl, 'a')).toBe(false);
    for (const { typeUrl } of resourceKinds) {
      expect(after.set(typeUrl)?.version).not.toBe(before.set(typeUrl)?.version);
    }
  });

  it('changes the resources of one slice only, and nothing is encoded for it', () => {
    const names = Array.from({ length: 300 }, (_, i) => `s${i}`);
    const scene = new Scene(...names.flatMap((name) => [service(name), slice(name, zoned('z'))]));
    const before = scene.served();
    const kept = names.map((name) => scene.find(endpointKind, clusterOf(name)));
    scene.apply([slice('s7', zoned('z', 'z'))], ['shop/s7']);
    const after = scene.served();
    expect(changed(before, after, endpointKind)).toEqual([clusterOf('s7')]);
    for (const kind of [clusterKind, listenerKind, routeKind]) {
      expect(changed(before, after, kind)).toEqual([]);
    }
    const now = names.map((name) => scene.find(endpointKind, clusterOf(name)));
    expect(now.filter((resource, i) => resource !== kept[i])).toHaveLength(1);
  });

  it('does not notify of a change by which clients receive the same', () => {
    const scene = new Scene(service('a'), slice('a', zoned('z')));
    const { notifications } = scene;
    const before = scene.served();
    scene.apply([service('a', { sessionAffinity: 'ClientIP' }), slice('a', zoned('z'))]);
    expect(scene.notifications).toBe(notifications);
    expect(scene.served()).toBe(before);
  });

  it('has versions that depend neither on the order of changes nor on what was before', () => {
    const manifests = [
      service('a'),
      service('b', {}, { annotations: { 'grpc-xds/max-requests': '5' } }),
      slice('a', zoned('x', 'y')),
      slice('b', zoned('y')),
    ];
    const first = new Scene(...manifests);
    const second = new Scene(service('c'), service('a', { trafficDistribution: 'PreferClose' }));
    for (const manifest of [...manifests].reverse()) second.apply([manifest]);
    second.objects.delete('Service', 'shop/c');
    second.apply([], ['shop/c']);
    expect(second.versions()).toEqual(first.versions());
    for (const kind of resourceKinds) {
      expect(second.names(kind)).toEqual(first.names(kind));
      for (const name of first.names(kind)) {
        expect(second.find(kind, name)?.version).toBe(first.find(kind, name)?.version);
      }
    }
  });

  it('removes what a service no longer has', () => {
    const scene = new Scene(service('a'), service('b'));
    scene.apply([service('a', { ports: [{ name: 'grpc', port: 90 }] })]);
    expect(scene.names(clusterKind)).toEqual([
      'outbound|80||b.shop.svc.cluster.local',
      'outbound|90||a.shop.svc.cluster.local',
    ]);
    const before = scene.served();
    scene.objects.delete('Service', 'shop/b');
    scene.apply([], ['shop/b']);
    expect(scene.names(clusterKind)).toEqual(['outbound|90||a.shop.svc.cluster.local']);
    expect(changed(before, scene.served(), listenerKind)).toEqual([
      'b.shop.svc.cluster.local:80',
      'b.shop.svc:80',
      'b.shop:80',
    ]);
  });

  it('finds what has changed over several changes, and between audiences', () => {
    const scene = new Scene(
      ...['a', 'b', 'c', 'd'].flatMap((name) => [service(name), slice(name, zoned('x'))]),
      service('a', { trafficDistribution: 'PreferSameZone' }),
      slice('a', zoned('x', 'y')),
    );
    const before = scene.served();
    scene.apply([slice('b', zoned('y'))]);
    scene.apply([slice('c', zoned('y'))]);
    expect(changed(before, scene.served(), endpointKind)).toEqual([clusterOf('b'), clusterOf('c')]);
    const moved = scene.served(nodeOf({}, 'y'));
    expect(changed(scene.served(), moved, endpointKind)).toEqual([clusterOf('a')]);
    expect(changed(before, moved, endpointKind)).toEqual(['a', 'b', 'c'].map((n) => clusterOf(n)));
  });

  it('finds the zone of a client in its locality, or else in its node', () => {
    const scene = new Scene(
      service('a', { trafficDistribution: 'PreferSameZone' }),
      slice('a', zoned('x', 'y')),
      nodeManifest('n1', 'y'),
    );
    expect(scene.zones()).toEqual(['xy']);
    expect(scene.zones(nodeOf({}, 'y'))).toEqual(['y', 'x']);
    expect(scene.zones(nodeOf({ NODE_NAME: 'n1' }))).toEqual(['y', 'x']);
    expect(scene.zones(nodeOf({ NODE_NAME: 'n1' }, 'x'))).toEqual(['x', 'y']);
    expect(scene.zones(nodeOf({ NODE_NAME: 'n2' }))).toEqual(['xy']);
    expect(scene.zones(nodeOf({ NODE_NAME: 5 }))).toEqual(['xy']);
  });

  it('serves one object to clients of the same zone, and to those in no zone of the service', () => {
    const scene = new Scene(
      service('a', { trafficDistribution: 'PreferSameZone' }),
      service('b'),
      slice('a', zoned('x', 'y')),
      slice('b', zoned('x', 'y')),
    );
    const find = (name: string, zone: string) =>
      scene.find(endpointKind, clusterOf(name), nodeOf({ NODE_NAME: `of ${zone}` }, zone));
    expect(find('a', 'x')).toBe(scene.find(endpointKind, clusterOf('a'), nodeOf({}, 'x')));
    expect(find('a', 'x')).not.toBe(find('a', 'y'));
    expect(find('a', 'z')).toBe(scene.find(endpointKind, clusterOf('a')));
    expect(find('b', 'x')).toBe(find('b', 'y'));
  });

  it('notifies when the node of a client gets a zone, though no service has changed', () => {
    const scene = new Scene(
      service('a', { trafficDistribution: 'PreferSameZone' }),
      slice('a', zoned('x', 'y')),
    );
    const node = nodeOf({ NODE_NAME: 'n1' });
    const before = scene.served(node);
    const { notifications } = scene;
    scene.apply([nodeManifest('n1', 'y')], []);
    expect(scene.notifications).toBe(notifications + 1);
    expect(scene.zones(node)).toEqual(['y', 'x']);
    expect(changed(before, scene.served(node), endpointKind)).toEqual([clusterOf('a')]);
    scene.apply([nodeManifest('n2', 'y')], []);
    expect(scene.notifications).toBe(notifications + 1);
  });

  it('shows a client the services of the namespaces that its principal may see', () => {
    const scene = new Scene(service('a'), service('a', {}, { namespace: 'other' }));
    const principal = {
      name: 'shop/front',
      namespace: 'shop',
      visibleNamespaces: new Set(['other']),
    };
    const node = { ...NO_CALLER, principal };
    expect(scene.names(clusterKind)).toHaveLength(2);
    expect(scene.names(clusterKind, node)).toEqual([clusterOf('a', 'other')]);
    expect(scene.find(clusterKind, clusterOf('a'), node)).toBeUndefined();
    const set = scene.served(node).set(listenerKind.typeUrl);
    expect(set?.byName.size).toBe(3);
    expect([...(set?.byName ?? [])].map(([name]) => name).sort()).toEqual(
      scene.names(listenerKind, node),
    );
    expect(set?.byName.has('a.shop:80')).toBe(false);
  });

  it('shows endpoints to those who see a service whose routes send calls to them', () => {
    const scene = new Scene(service('a'), service('b', {}, { namespace: 'pay' }));
    const seeing = { ...NO_CALLER, principal: { name: 'x', visibleNamespaces: new Set(['shop']) } };
    const target = clusterOf('b', 'pay');
    const before = scene.served(seeing);
    expect(scene.find(clusterKind, target, seeing)).toBeUndefined();
    const grant = {
      kind: 'ReferenceGrant',
      metadata: { name: 'g', namespace: 'pay' },
      spec: {
        from: [{ group: 'gateway.networking.k8s.io', kind: 'GRPCRoute', namespace: 'shop' }],
        to: [{ group: '', kind: 'Service' }],
      },
    };
    scene.apply([grant, routeManifest('shop', 'b', 'pay')], ['shop/a']);
    expect(scene.clustersIn(clusterOf('a'), seeing)).toContain(target);
    for (const kind of [clusterKind, endpointKind]) {
      expect(scene.find(kind, target, seeing)).toBeDefined();
      expect(changed(before, scene.served(seeing), kind)).toEqual([target]);
    }
    expect(scene.find(listenerKind, 'b.pay:80', seeing)).toBeUndefined();
    scene.objects.delete('GRPCRoute', 'shop/r');
    scene.apply([], ['shop/a']);
    expect(scene.find(clusterKind, target, seeing)).toBeUndefined();
    expect(scene.versions(seeing)).toEqual(
      new Scene(service('a'), service('b', {}, { namespace: 'pay' })).versions(seeing),
    );
  });

  it('shows endpoints that a route of another namespace sends its own callers to only to those who see that one', () => {
    const grant = {
      kind: 'ReferenceGrant',
      metadata: { name: 'g', namespace: 'pay' },
      spec: {
        from: [{ group: 'gateway.networking.k8s.io', kind: 'GRPCRoute', namespace: 'other' }],
        to: [{ group: '', kind: 'Service' }],
      },
    };
    const scene = new Scene(service('a'), service('b', {}, { namespace: 'pay' }), grant);
    const seeing = (...visible: readonly string[]) => ({
      ...NO_CALLER,
      principal: { name: 'x', visibleNamespaces: new Set(visible) },
    });
    const isSeenBy = (...visible: readonly string[]) =>
      [clusterKind, endpointKind].map(
        (kind) => scene.find(kind, clusterOf('b', 'pay'), seeing(...visible)) !== undefined,
      );
    scene.apply([routeManifest('other', 'b', 'pay')], ['shop/a']);
    expect(isSeenBy('shop')).toEqual([false, false]);
    expect(isSeenBy('other')).toEqual([true, true]);
    const first = { kind: 'ReferenceGrant', metadata: { name: 'g2', namespace: 'pay' } };
    const from = [{ group: 'gateway.networking.k8s.io', kind: 'GRPCRoute', namespace: 'shop' }];
    const open = { ...first, spec: { from, to: [{ group: '', kind: 'Service' }] } };
    scene.apply([open, routeManifest('shop', 'b', 'pay')], ['shop/a']);
    expect([isSeenBy('shop'), isSeenBy('other')]).toEqual([
      [true, true],
      [true, true],
    ]);
    scene.objects.delete('GRPCRoute', 'other/r');
    scene.apply([], ['shop/a']);
    expect([isSeenBy('shop'), isSeenBy('other')]).toEqual([
      [true, true],
      [false, false],
    ]);
  });

  it.each(['ExternalName', 'ClusterIP'])('says that a %s without ports has no names', (type) => {
    const scene = new Scene(service('a', { type, externalName: 'b.example', ports: [] }));
    const message = 'has no ports, and so no names that clients can call: add one to spec.ports';
    expect(scene.problems).toEqual([['shop/a', [{ annotation: undefined, message }]]]);
    scene.apply([service('a', { type, externalName: 'b.example' })]);
    expect(scene.problems.slice(1)).toEqual([['shop/a', []]]);
  });

  it('reports the problems of a service when they change', () => {
    const wrong = { annotations: { 'grpc-xds/lb-policy': 'fastest' } };
    const scene = new Scene(service('a', {}, wrong), service('b'));
    scene.apply([service('a', {}, wrong)]);
    expect(scene.problems.map(([key, { length }]) => [key, length])).toEqual([['shop/a', 1]]);
    scene.apply([service('a')]);
    expect(scene.problems.at(-1)).toEqual(['shop/a', []]);
    expect(scene.source.problemsOf('shop/a')).toEqual([]);
  });

  it('keeps the policy that was right when an annotation becomes wrong, until the Service is created again', () => {
    const withPolicy = (text: string, uid = '1') =>
      service('a', {}, { annotations: { 'grpc-xds/lb-policy': text }, uid });
    const scene = new Scene(withPolicy('least_request'));
    const versionOf = (of = scene) => of.find(clusterKind, clusterOf('a'))?.version;
    const right = versionOf();
    scene.apply([withPolicy('fastest')]);
    scene.apply([withPolicy('fastest'), slice('a', zoned('x'))]);
    expect(versionOf()).toBe(right);
    expect(scene.source.problemsOf('shop/a')).toMatchObject([{ inUse: 'least_request' }]);
    const restarted = new Scene(withPolicy('fastest'));
    expect(versionOf(restarted)).toBe(versionOf(new Scene(service('a'))));
    expect(restarted.source.problemsOf('shop/a')).toMatchObject([{ inUse: 'round_robin' }]);
    scene.apply([withPolicy('fastest', '2')]);
    expect(versionOf()).toBe(versionOf(restarted));
  });

  it('serves endpoints with names as one name to look up, and reports that the others are not used', () => {
    const names = slice('a', [endpoint('c.example'), endpoint('b.example')], {
      addressType: 'FQDN',
    });
    const scene = new Scene(service('a'), names);
    expect(scene.names(endpointKind)).toEqual([]);
    const message =
      'port 80: clients look up one name only: of its EndpointSlices b.example is used, not c.example';
    expect(scene.source.problemsOf('shop/a')).toEqual([{ annotation: undefined, message }]);
    scene.apply([slice('a', zoned('x'), { name: 'a-2' })]);
    expect(scene.names(endpointKind)).toEqual([clusterOf('a')]);
  });

  it('serves the routes of its namespace to all, and those of another to callers of that one', () => {
    const scene = new Scene(service('a'), service('b'), service('c'));
    const plain = scene.find(listenerKind, 'a.shop:80');
    const before = scene.served();
    scene.apply([routeManifest('shop', 'b')], ['shop/a']);
    const name = clusterOf('a');
    expect(changed(before, scene.served(), routeKind)).toEqual([name]);
    expect(filtersOf(scene.find(listenerKind, 'a.shop:80'))).toEqual([
      'envoy.filters.http.fault',
      'router',
    ]);
    expect(scene.clustersIn(name)).toEqual([clusterOf('b'), name]);
    // Its namespace has no service c: calls are refused before they get to a cluster.
    scene.apply([routeManifest('other', 'c')], ['shop/a']);
    expect(scene.clustersIn(name, nodeOf({ NAMESPACE: 'other' }))).toEqual([name, name]);
    expect(scene.clustersIn(name, nodeOf({ NAMESPACE: 'third' }))).toEqual([clusterOf('b'), name]);
    const imposter = { ...nodeOf({ NAMESPACE: 'other' }), principal: { name: 'third/x' } };
    expect(scene.clustersIn(name, imposter)).toEqual([clusterOf('b'), name]);
    for (const namespace of ['shop', 'other']) {
      scene.objects.delete('GRPCRoute', `${namespace}/r`);
    }
    scene.apply([], ['shop/a']);
    expect(scene.find(listenerKind, 'a.shop:80')?.digest).toBe(plain?.digest);
    expect(scene.clustersIn(name)).toEqual([name]);
  });

  it('hashes the header of ring_hash on all routes to a cluster', () => {
    const annotations = {
      'grpc-xds/lb-policy': 'ring_hash',
      'grpc-xds/ring-hash-header': 'x-user',
    };
    const scene = new Scene(service('a', {}, { annotations }), service('b'));
    const headers = () =>
      scene
        .routesOf(clusterOf('a'))
        .map(({ action }) =>
          action?.$case === 'route'
            ? action.value.hashPolicy.map((each) => each.policySpecifier)
            : [],
        );
    const header = { $case: 'header', value: { headerName: 'x-user', regexRewrite: undefined } };
    expect(headers()).toEqual([[header]]);
    scene.apply([routeManifest('shop', 'b')], ['shop/a']);
    expect(headers()).toEqual([[header], [header]]);
  });

  it('keeps resources readable as they were for streams that are behind', () => {
    const scene = new Scene(service('a'), slice('a', zoned('x')));
    const before = scene.served().set(clusterKind.typeUrl);
    scene.objects.delete('Service', 'shop/a');
    scene.apply([], ['shop/a']);
    expect(before?.byName.get(clusterOf('a'))).toBeDefined();
    expect(scene.names(clusterKind)).toEqual([]);
  });

  it('serves more audiences than it remembers', () => {
    const scene = new Scene(service('a'), slice('a', zoned('x')));
    for (let i = 0; i < 10_100; i++) scene.served(nodeOf({ NODE_NAME: `n${i}` }));
    expect(scene.versions(nodeOf({ NODE_NAME: 'n1' }))).toEqual(
      new Scene(service('a'), slice('a', zoned('x'))).versions(nodeOf({ NODE_NAME: 'n1' })),
    );
  });
});

/** A clock of which each reading takes a millisecond, so that each turn has as many steps. */
class BusyClock extends FakeClock {
  private readMs = 0;

  override monotonicMs(): number {
    this.readMs++;
    return super.monotonicMs() + this.readMs;
  }
}

describe('a source that translates in steps', () => {
  const manifestsOf = (names: readonly string[]) =>
    names.flatMap((name) => [service(name), slice(name, [endpoint('10.0.0.1')])]);

  it('serves nothing of a cluster until all of it is translated, in several turns of the event loop', () => {
    const clock = new BusyClock();
    const names = Array.from({ length: 100 }, (_, i) => `service-${i}`);
    const objects = objectsOf(...manifestsOf(names));
    const source = new KubernetesSource({
      objects,
      timeSlices: new TimeSlices(clock, undefined, 10),
    });
    let notifications = 0;
    source.watch(() => notifications++);
    source.apply({ services: new Set(objects.services.keys()) });
    const served = () => source.resourcesFor(NO_CALLER).set(clusterKind.typeUrl)?.byName.size;
    let turns = 0;
    for (; !source.isComplete; turns++) {
      expect([served(), notifications]).toEqual([0, 0]);
      expect(source.resourcesFor(NO_CALLER).isPending(clusterKind.typeUrl, 'any')).toBe(true);
      if (turns === 3) {
        // A change meanwhile is part of it.
        putManifests(objects, ...manifestsOf(['late']));
        source.apply({ services: new Set([...objects.services.keys()].slice(-1)) });
      }
      clock.advance(1);
    }
    expect(turns).toBeGreaterThan(8);
    expect([served(), notifications]).toEqual([101, 1]);
  });
});
