import { ViewChange, type ServedResources } from '../../../src/control-plane/ads/resource-view';
import { KubernetesSource } from '../../../packages/kubernetes/src/kubernetes-source';
import type { ObjectChange } from '../../../packages/kubernetes/src/cluster-objects';
import { StoredObjects } from '../../../packages/kubernetes/src/stored-objects';
import type { Audience } from '../../../packages/kubernetes/src/translate/audience';
import {
  digestOf,
  emptyResourceSet,
  endpointKind,
  resourceKinds,
} from '../../../src/control-plane/resource';
import { HealthStatus } from '../../../src/wire/generated/envoy/config/core/v3/health_check';
import { ClusterLoadAssignment } from '../../../src/wire/generated/envoy/config/endpoint/v3/endpoint';
import { FakeClock } from '../../support/fake-clock';
import {
  DRAINING,
  endpointManifest,
  nodeManifest,
  putManifests,
  serviceManifest,
  sliceManifest,
  type Json,
} from '../../support/kubernetes-manifests';
import { seededRandom } from '../../support/seeded-random';

const NAMES = ['a', 'b'];
const NAMESPACES = ['shop', 'pay'];
const ZONES = ['x', 'y', 'z'];
const NODES = ['n1', 'n2', 'n3', 'n4'];

/** Writes and deletes objects at random. */
class Writer {
  constructor(
    private readonly objects: StoredObjects,
    private readonly random: () => number,
  ) {}

  step(): void {
    const name = this.one(NAMES);
    const kind = this.one(['service', 'slice', 'slice', 'slice', 'node', 'route', 'delete']);
    if (kind === 'service') putManifests(this.objects, this.service(name));
    else if (kind === 'slice') putManifests(this.objects, this.slice(name));
    else if (kind === 'node')
      putManifests(this.objects, nodeManifest(this.one(NODES), this.one(ZONES)));
    else if (kind === 'route') putManifests(this.objects, this.route());
    else this.delete(name);
  }

  /** Allows the routes of each namespace to send calls to the others. */
  grantAll(): void {
    const group = 'gateway.networking.k8s.io';
    for (const namespace of NAMESPACES) {
      const from = NAMESPACES.map((each) => ({ group, kind: 'GRPCRoute', namespace: each }));
      const spec = { from, to: [{ group: '', kind: 'Service' }] };
      putManifests(this.objects, {
        kind: 'ReferenceGrant',
        metadata: { name: 'g', namespace },
        spec,
      });
    }
  }

  private route(): Json {
    const reference = () => ({ name: this.one(NAMES), namespace: this.one(NAMESPACES) });
    const backendRefs = [1, 2].map(() => ({ ...reference(), port: this.one([80, 81]) }));
    return {
      kind: 'GRPCRoute',
      metadata: { name: this.one(['r1', 'r2']), namespace: this.one(NAMESPACES) },
      spec: {
        parentRefs: [{ group: '', kind: 'Service', ...reference() }],
        rules: [{ backendRefs }],
      },
    };
  }

  private one<T>(list: readonly T[]): T {
    const found = list[Math.floor(this.random() * list.length)];
    if (found === undefined) throw new Error('an empty list');
    return found;
  }

  private service(name: string): Json {
    const spec = this.one<Json>([
      {},
      { trafficDistribution: 'PreferSameZone' },
      { trafficDistribution: 'PreferSameNode' },
      { internalTrafficPolicy: 'Local' },
      { publishNotReadyAddresses: true },
      { type: 'ExternalName', externalName: 'example.com' },
      { ports: [{ name: 'grpc', port: 81 }, { port: 82 }] },
    ]);
    const annotations = this.one<Readonly<Record<string, string>>>([
      {},
      { 'grpc-xds/max-requests': '5' },
      // Not a wrong value, in place of which a new source has no value from before.
      { 'grpc-xds/lb-polisy': 'fastest' },
      { 'grpc-xds/lb-policy': 'ring_hash', 'grpc-xds/ring-hash-header': 'x-user' },
    ]);
    return serviceManifest(name, spec, { annotations, namespace: this.one(NAMESPACES) });
  }

  private slice(service: string): Json {
    const count = Math.floor(this.random() * 6);
    const endpoints = Array.from({ length: count }, () =>
      endpointManifest(`10.0.0.${1 + Math.floor(this.random() * 12)}`, {
        ...(this.random() < 0.3 ? DRAINING : {}),
        ...(this.random() < 0.7 ? { nodeName: this.one(NODES) } : {}),
        ...(this.random() < 0.5 ? { zone: this.one(ZONES) } : {}),
        ...(this.random() < 0.5 ? { hints: { forZones: [{ name: this.one(ZONES) }] } } : {}),
        ...(this.random() < 0.5 ? { targetRef: { uid: this.one(['p', 'q', 'r']) } } : {}),
      }),
    );
    const isIpv6 = this.random() < 0.2;
    const name = `${service}-${this.one(['1', '2', '3'])}${isIpv6 ? '-v6' : ''}`;
    const namespace = this.one(NAMESPACES);
    if (!isIpv6) return sliceManifest(service, endpoints, { name, namespace });
    const addresses = endpoints.map((each, i) => ({ ...each, addresses: [`fd00::${i + 1}`] }));
    return sliceManifest(service, addresses, { name, namespace, addressType: 'IPv6' });
  }

  private delete(name: string): void {
    const namespace = this.one(NAMESPACES);
    const kind = this.one(['Service', 'Node', 'EndpointSlice', 'GRPCRoute'] as const);
    const names = {
      Service: `${namespace}/${name}`,
      Node: this.one(NODES),
      EndpointSlice: `${namespace}/${name}-${this.one(['1', '2', '3'])}`,
      GRPCRoute: `${namespace}/${this.one(['r1', 'r2'])}`,
    };
    this.objects.delete(kind, names[kind]);
  }
}

const AUDIENCES: readonly Audience[] = [
  { zone: undefined, nodeName: undefined, namespace: undefined },
  { zone: 'x', nodeName: undefined, namespace: undefined },
  { zone: 'y', nodeName: 'n1', namespace: 'shop' },
  { zone: undefined, nodeName: 'n4', namespace: undefined },
  { zone: 'nowhere', nodeName: 'n9', namespace: 'other', visible: new Set(['shop']) },
  { zone: 'x', nodeName: 'n1', namespace: 'pay', visible: new Set() },
];

/** All that an audience receives. */
function receivedOf(served: ServedResources): readonly string[] {
  return resourceKinds.flatMap(({ typeUrl }) => {
    const set = served.set(typeUrl);
    const resources = [...(set?.byName ?? [])].map(([name, { version }]) => `${name} ${version}`);
    return [`${typeUrl} ${set?.version}`, ...resources.sort()];
  });
}

/** Returns names that differ between two moments and that a stream would not look at. */
function findMissed(previous: ServedResources, next: ServedResources): readonly string[] {
  const change = new ViewChange(previous, next);
  return resourceKinds.flatMap(({ typeUrl }) => {
    const [before, after] = [previous.set(typeUrl), next.set(typeUrl)].map(
      (set) => set ?? emptyResourceSet,
    );
    if (before === undefined || after === undefined) return [];
    const named = new Set(change.changedNames(typeUrl));
    const all = new Set([...before.byName.keys(), ...after.byName.keys()]);
    return [...all].filter(
      (name) => digestOf(before, name) !== digestOf(after, name) && !named.has(name),
    );
  });
}

/** Returns the rules of clients that an assignment breaks, each of which has them reject it. */
function findFaults(value: Uint8Array): readonly string[] {
  const { endpoints } = ClusterLoadAssignment.decode(value);
  const faults: string[] = [];
  const addresses: string[] = [];
  const localities: string[] = [];
  let last = 0;
  for (const { locality, priority, loadBalancingWeight = 0, lbEndpoints } of endpoints) {
    if (priority > last + 1 || priority < last) faults.push(`priority ${priority} after ${last}`);
    last = priority;
    if (locality === undefined) faults.push('no locality');
    localities.push(JSON.stringify([priority, locality]));
    if (loadBalancingWeight < 1) faults.push(`weight ${loadBalancingWeight}`);
    if (!lbEndpoints.some(({ healthStatus }) => healthStatus === HealthStatus.HEALTHY))
      faults.push('a locality without an endpoint that is used');
    for (const { hostIdentifier } of lbEndpoints) {
      if (hostIdentifier?.$case !== 'endpoint') continue;
      const { address, additionalAddresses } = hostIdentifier.value;
      for (const each of [address, ...additionalAddresses.map((more) => more.address)])
        addresses.push(JSON.stringify(each));
    }
  }
  if (endpoints.length > 0 && endpoints[0]?.priority !== 0) faults.push('no priority 0');
  if (new Set(addresses).size !== addresses.length) faults.push('an address is there twice');
  if (new Set(localities).size !== localities.length) faults.push('a locality is there twice');
  return faults;
}

describe('a source with changes at random', () => {
  it.each([1, 2])('serves what a new one serves, and misses no change (seed %d)', (seed) => {
    const random = seededRandom(seed);
    const clock = new FakeClock();
    const objects = new StoredObjects(clock);
    const source = new KubernetesSource({ objects });
    const changes: ObjectChange[] = [];
    objects.watch((change) => changes.push(change));
    objects.open();
    const writer = new Writer(objects, random);
    writer.grantAll();
    let earlier = AUDIENCES.map((audience) => source.resourcesOf(audience));
    for (let round = 0; round < 50; round++) {
      const before = AUDIENCES.map((audience) => source.resourcesOf(audience));
      for (let steps = 1 + Math.floor(random() * 3); steps > 0; steps--) writer.step();
      clock.advance(1);
      for (const change of changes.splice(0)) source.apply(change);
      const fresh = new KubernetesSource({ objects });
      fresh.apply({ services: new Set(objects.services.keys()) });
      for (const [i, audience] of AUDIENCES.entries()) {
        const now = source.resourcesOf(audience);
        expect(receivedOf(now)).toEqual(receivedOf(fresh.resourcesOf(audience)));
        const past = [before[i], earlier[i], before[(i + 1) % AUDIENCES.length]];
        for (const each of past) expect(each && findMissed(each, now)).toEqual([]);
        const assignments = [...(now.set(endpointKind.typeUrl)?.byName ?? [])];
        expect(assignments.flatMap(([, { value }]) => findFaults(value))).toEqual([]);
      }
      if (round % 10 === 0) earlier = before;
    }
  });
});
