import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { FakeClock } from '../support/fake-clock';
import { TimeSlices } from '../../src/util/time-slices';
import { silentLogger } from '../../src/util/logger';
import { XdsDependencyManager } from '../../src/dependency-manager/dependency-manager';
import type { XdsConfig } from '../../src/dependency-manager/xds-config';
import type {
  EndpointCollection,
  EndpointsResource,
  LocalityEndpoints,
} from '../../src/resources/endpoints/endpoints';
import { err, type Result } from '../../src/util/result';
import { RESOURCE_TYPE_DEFAULTS, type ResourceType } from '../../src/xds-client/resource-type';
import { FakeDns } from '../support/fake-dns';
import { FakeResourceSource, fakeTypes, withMessage } from '../support/fake-resource-source';
import {
  edsCluster,
  endpoints,
  listener,
  routeConfig,
  virtualHost,
  virtualHostTo,
  xdsError,
} from '../support/xds-builders';

const collectionType: ResourceType<EndpointCollection> = {
  ...RESOURCE_TYPE_DEFAULTS,
  typeUrl: 'type.googleapis.com/LbEndpointCollection',
  typeName: 'LbEndpointCollection',
  allResourcesRequiredInSotw: false,
  peekName: () => undefined,
  decode() {
    return { name: undefined, result: err(['nothing is decoded here']) };
  },
};

const endpointsAt = (...hosts: readonly string[]) =>
  endpoints('any', ...hosts).priorities[0]?.localities[0]?.endpoints ?? [];

/** A cluster `a` whose localities, one for each name, have their endpoints in collections. */
function assignment(...collections: readonly string[]): EndpointsResource {
  const localities = collections.map((collection): LocalityEndpoints => ({
    locality: { region: 'r', zone: collection, subZone: '' },
    weight: 1,
    endpoints: [],
    collection,
  }));
  return { clusterName: 'a', priorities: [{ localities }], drops: [] };
}

class Scene {
  readonly clock = new FakeClock();
  readonly source = new FakeResourceSource();
  readonly updates: Result<XdsConfig, string>[] = [];
  readonly manager = new XdsDependencyManager({
    source: this.source,
    types: { ...fakeTypes, endpointCollection: collectionType },
    dns: new FakeDns(),
    listenerName: 'svc',
    host: 'svc',
    clientNote: 'xDS node "n1"',
    limits: DEFAULT_LIMITS,
    logger: silentLogger,
    clock: this.clock,
    timeSlices: new TimeSlices(this.clock),
    onUpdate: (update) => this.updates.push(withMessage(update)),
  });

  constructor(first: EndpointsResource) {
    this.source.serve(fakeTypes.listener, 'svc', listener('svc'));
    const routes = routeConfig('svc-routes', virtualHost([...virtualHostTo('a').routes]));
    this.source.serve(fakeTypes.routeConfig, 'svc-routes', routes);
    this.source.serve(fakeTypes.cluster, 'a', edsCluster('a'));
    this.assign(first);
    this.manager.start();
  }

  assign(value: EndpointsResource): void {
    this.source.serve(fakeTypes.endpoints, 'a', value);
  }

  collect(name: string, ...hosts: readonly string[]): void {
    this.source.serve(collectionType, name, { endpoints: endpointsAt(...hosts) });
  }

  private get children() {
    const last = this.updates.at(-1);
    const cluster = last?.ok === true ? last.value.clusters.get('a') : undefined;
    if (cluster?.ok !== true || cluster.value.children.kind !== 'endpoints') {
      throw new Error('There is no cluster');
    }
    return cluster.value.children;
  }

  get localities(): readonly LocalityEndpoints[] {
    return this.children.endpoints?.priorities[0]?.localities ?? [];
  }

  /** Hosts by locality. */
  get hosts() {
    return this.localities.map(({ endpoints: list }) => list.map((e) => e.addresses[0]?.host));
  }

  get note(): string {
    return this.children.resolutionNote;
  }

  get collectionsWatched(): readonly string[] {
    return this.source.watched(collectionType);
  }
}

describe('an assignment with collections (gRFC A95)', () => {
  it('is used when all its collections are there', () => {
    const scene = new Scene(assignment('x', 'y'));
    expect(scene.collectionsWatched).toEqual(['x', 'y']);
    scene.collect('x', '10.0.0.1');
    expect(scene.updates).toEqual([]);
    scene.collect('y', '10.0.0.2', '10.0.0.3');
    expect(scene.hosts).toEqual([['10.0.0.1'], ['10.0.0.2', '10.0.0.3']]);
  });

  it('follows each collection, and shares what did not change', () => {
    const scene = new Scene(assignment('x', 'y'));
    scene.collect('x', '10.0.0.1');
    scene.collect('y', '10.0.0.2');
    const [x, y] = scene.localities;
    scene.collect('y', '10.0.0.2', '10.0.0.3');
    expect(scene.hosts).toEqual([['10.0.0.1'], ['10.0.0.2', '10.0.0.3']]);
    expect(scene.localities[0]).toBe(x);
    expect(scene.localities[1]?.endpoints[0]).toBe(y?.endpoints[0]);
    expect(scene.updates).toHaveLength(2);
    scene.collect('y', '10.0.0.2', '10.0.0.3');
    expect(scene.updates).toHaveLength(2);
  });

  it('is unchanged until a new collection was received', () => {
    const scene = new Scene(assignment('x'));
    scene.collect('x', '10.0.0.1');
    scene.assign(assignment('x', 'y'));
    expect(scene.hosts).toEqual([['10.0.0.1']]);
    scene.collect('y', '10.0.0.2');
    expect(scene.hosts).toEqual([['10.0.0.1'], ['10.0.0.2']]);
    scene.assign(assignment('y'));
    expect(scene.hosts).toEqual([['10.0.0.2']]);
    expect(scene.collectionsWatched).toEqual(['y']);
  });

  it('has no endpoints in a locality whose collection has an error, with the error', () => {
    const scene = new Scene(assignment('x', 'y'));
    scene.collect('x', '10.0.0.1');
    scene.source.fail(collectionType, 'y', xdsError('LbEndpointCollection "y": no such resource'));
    expect(scene.hosts).toEqual([['10.0.0.1'], []]);
    expect(scene.note).toContain('LbEndpointCollection "y": no such resource');
    scene.collect('y', '10.0.0.2');
    expect(scene.hosts).toEqual([['10.0.0.1'], ['10.0.0.2']]);
    expect(scene.note).toBe('xDS node "n1"');
  });

  it('has the ambient errors of itself and of its collections while they stay in use', () => {
    const scene = new Scene(assignment('x'));
    scene.collect('x', '10.0.0.1');
    scene.source.ambient(collectionType, 'x', xdsError('collection is stale'));
    expect(scene.note).toBe('collection is stale');
    scene.source.ambient(fakeTypes.endpoints, 'a', xdsError('assignment is stale'));
    expect(scene.note).toBe('assignment is stale');
    scene.source.ambient(fakeTypes.endpoints, 'a', undefined);
    scene.source.ambient(collectionType, 'x', undefined);
    expect(scene.note).toBe('xDS node "n1"');
    expect(scene.hosts).toEqual([['10.0.0.1']]);
  });

  it('releases its collections when it is removed, and has them again when it is added again', () => {
    const scene = new Scene(assignment('x'));
    scene.collect('x', '10.0.0.1');
    scene.source.fail(fakeTypes.endpoints, 'a', xdsError('gone'));
    expect(scene.collectionsWatched).toEqual([]);
    expect(scene.note).toBe('gone');
    scene.assign(assignment('x'));
    expect(scene.hosts).toEqual([['10.0.0.1']]);
    scene.manager.close();
    expect(scene.source.watchCount).toBe(0);
  });

  it('may change to its own endpoints, and is passed on unchanged then', () => {
    const scene = new Scene(assignment('x'));
    scene.collect('x', '10.0.0.1');
    const own = endpoints('a', '10.0.0.9');
    scene.assign(own);
    expect(scene.collectionsWatched).toEqual([]);
    expect(scene.localities).toBe(own.priorities[0]?.localities);
  });
});
