import { Metadata } from '@grpc/grpc-js';
import { KubernetesSource } from '../../../packages/kubernetes/src/kubernetes-source';
import type { StoredObjects } from '../../../packages/kubernetes/src/stored-objects';
import type { EchoBackend, EchoClient } from '../../support/echo-backend';
import { eventually } from '../../support/eventually';
import {
  DRAINING,
  endpointManifest,
  objectsOf,
  putManifests,
  serviceManifest as service,
  sliceManifest,
  type Json,
} from '../../support/kubernetes-manifests';
import { Mesh } from '../../support/mesh';

const TARGET = 'xds:///a.shop.svc.cluster.local:80';

/** A cluster whose endpoints are on loopback, its control plane, and clients of it: the service `a`. */
class Scene {
  readonly backends: EchoBackend[] = [];

  private constructor(
    private readonly objects: StoredObjects,
    private readonly source: KubernetesSource,
    readonly mesh: Mesh,
  ) {}

  static async start(): Promise<Scene> {
    const objects = objectsOf();
    const source = new KubernetesSource({ objects });
    const scene = new Scene(objects, source, await Mesh.startWith({ source }));
    for (const name of ['one', 'two', 'three']) scene.backends.push(await scene.mesh.backend(name));
    return scene;
  }

  write(...manifests: readonly Json[]): void {
    putManifests(this.objects, ...manifests);
    this.source.apply({ services: new Set(['shop/a']) });
  }

  /** A slice of each backend, since each has a port of its own, with further fields of its endpoint. */
  slices(...fields: readonly Json[]): readonly Json[] {
    return this.backends.map(({ port }, i) => {
      const endpoints = fields[i] === undefined ? [] : [endpointManifest('127.0.0.1', fields[i])];
      const ports = [{ name: 'grpc', port, protocol: 'TCP' }];
      return sliceManifest('a', endpoints, { name: `a-${i}`, ports });
    });
  }

  /** Makes calls until exactly these backends answer 30 of them. */
  async untilServedBy(client: EchoClient, ...names: readonly string[]): Promise<void> {
    await eventually(
      async () =>
        [...new Set(await Promise.all(Array.from({ length: 30 }, () => client.say())))].sort(),
      (found) => found.join() === [...names].sort().join(),
    );
  }

  rejections(): readonly string[] {
    return this.mesh.controlPlane
      .clients()
      .flatMap(({ types }) =>
        [...types.values()].flatMap(({ rejection }) => rejection?.message ?? []),
      );
  }
}

describe('calls to a service of Kubernetes', () => {
  let scene: Scene;

  beforeEach(async () => {
    scene = await Scene.start();
  });

  afterEach(() => {
    expect(scene.rejections()).toEqual([]);
    scene.mesh.stop();
  });

  it.each([TARGET, 'xds:///a.shop.svc:80', 'xds:///a.shop:80'])('reach %s', async (target) => {
    scene.write(service('a'), ...scene.slices({}, {}, {}));
    await scene.untilServedBy(scene.mesh.client({}, target), 'one', 'two', 'three');
  });

  it('follow the conditions of endpoints, and use those that terminate when nothing else is left', async () => {
    scene.write(service('a'), ...scene.slices({}, {}));
    const client = scene.mesh.client({}, TARGET);
    await scene.untilServedBy(client, 'one', 'two');
    scene.write(...scene.slices(DRAINING, {}, {}));
    await scene.untilServedBy(client, 'two', 'three');
    scene.write(...scene.slices(DRAINING, DRAINING));
    await scene.untilServedBy(client, 'one', 'two');
    scene.write(...scene.slices());
    await eventually(
      () => client.say().catch((error: Error) => error.message),
      (answer) => answer.includes('has no endpoints'),
    );
    scene.write(...scene.slices({}));
    await eventually(
      () => client.say().catch(() => ''),
      (name) => name === 'one',
    );
  });

  it('go to the endpoint of their header by ring_hash', async () => {
    const annotations = {
      'grpc-xds/lb-policy': 'ring_hash',
      'grpc-xds/ring-hash-header': 'x-user',
    };
    const zones = ['x', 'y', 'y'].map((zone) => ({ zone }));
    scene.write(service('a', {}, { annotations }), ...scene.slices(...zones));
    const client = scene.mesh.client({}, TARGET);
    const sayAs = (user: number) => {
      const metadata = new Metadata();
      metadata.set('x-user', `${user}`);
      return client.say({ metadata });
    };
    const users = Array.from({ length: 20 }, (_, user) => user);
    const first = await Promise.all(users.map(sayAs));
    expect(new Set(first).size).toBeGreaterThan(1);
    for (let i = 0; i < 3; i++) expect(await Promise.all(users.map(sayAs))).toEqual(first);
  });

  it('have the policies of annotations', async () => {
    const annotations = {
      'grpc-xds/lb-policy': 'least_request',
      'grpc-xds/least-request-choice-count': '3',
      'grpc-xds/max-requests': '100',
      'grpc-xds/outlier-detection': '{"interval":"1s","failure_percentage_threshold":50}',
    };
    scene.write(service('a', {}, { annotations }), ...scene.slices({}, {}));
    await scene.untilServedBy(scene.mesh.client({}, TARGET), 'one', 'two');
  });

  it('reach an external name by DNS', async () => {
    const [backend] = scene.backends;
    const ports = [{ name: 'grpc', port: backend?.port }];
    scene.write(service('a', { type: 'ExternalName', externalName: 'localhost', ports }));
    const target = `xds:///a.shop.svc.cluster.local:${backend?.port}`;
    await scene.untilServedBy(scene.mesh.client({}, target), 'one');
  });
});
