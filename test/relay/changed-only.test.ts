import type { ResourceJson } from '../../src/control-plane';
import { UpstreamResources } from '../../packages/relay/src/upstream-resources';
import { createDeltaSubscriptions } from '../../src/control-plane/ads/delta-subscription';
import { ViewChanges } from '../../src/control-plane/ads/resource-view';
import type { OpaqueResource } from '../../src/resources/opaque-type';
import { createHandle, type Handle } from '../../src/util/handle';
import { ok } from '../../src/util/result';
import type { ResourceType } from '../../src/xds-client/resource-type';
import type { ResourceWatcher } from '../../src/xds-client/resource-watcher';
import { DeltaClient } from '../control-plane/delta-client';
import { CDS, EDS, cluster, echo } from '../control-plane/resources';
import { countWork } from '../support/count-work';
import { FakeClock } from '../support/fake-clock';
import { RelayScene } from './relay-scene';

const CLIENTS = 50;
const names = Array.from({ length: 200 }, (_, i) => `cluster-${i}`);

describe(`a relay with ${CLIENTS} clients and ${names.length} clusters`, () => {
  it('sends each of them the cluster that has changed, and requests and receives it once', async () => {
    const scene = await RelayScene.start({}, ['xds_v3', 'grpc_xds_delta']);
    const clusters: ResourceJson[] = names.map((name) => cluster(name));
    scene.serve({ ...echo, clusters });
    const client = new DeltaClient(scene.listen);
    try {
      const streams = Array.from({ length: CLIENTS }, () => client.open());
      await Promise.all(
        streams.map(async (stream, i) => {
          stream.send(CDS, { node: { id: `client-${i}` }, sub: names });
          for (let missing = names.length; missing > 0;) {
            const response = await stream.next();
            stream.ack(response);
            missing -= response.resources.length;
          }
        }),
      );
      const before = scene.events.length;
      const changed = { ...cluster('cluster-100'), lb_policy: 'RING_HASH' as const };
      scene.serve({ ...echo, clusters: clusters.with(100, changed) });
      const responses = await Promise.all(streams.map((stream) => stream.next()));
      for (const { resources, removed_resources } of responses) {
        expect(resources.map(({ name }) => name)).toEqual(['cluster-100']);
        expect(removed_resources).toEqual([]);
      }
      expect(streams.flatMap(({ received }) => received)).toEqual([]);
      const sent = scene.events.slice(before).filter(({ kind }) => kind === 'sent');
      expect(sent).toMatchObject([{ names: ['cluster-100'], removed: [] }]);
      expect(scene.streams).toBe(1);
    } finally {
      client.close();
      scene.stop();
    }
  });
});

/** Resources that the test receives, without the work of finding who watches one. */
class ManualSource {
  private readonly watchers = new Map<string, (value: OpaqueResource) => void>();

  watch<T>(_type: ResourceType<T>, name: string, watcher: ResourceWatcher<T>): Handle {
    // The only values are those of the type that a relay watches.
    this.watchers.set(name, (value) => watcher.onResourceChanged(ok(value as T)));
    return createHandle(() => this.watchers.delete(name));
  }

  run(task: () => void): void {
    task();
  }

  holdRequests(): Handle {
    return createHandle(() => {});
  }

  serverFailures(): readonly string[] {
    return [];
  }

  serve(name: string, value: OpaqueResource): void {
    this.watchers.get(name)?.(value);
  }
}

describe('the work for one change', () => {
  const value = (text: string): OpaqueResource => ({
    bytes: Buffer.from(text),
    server: {
      serverUri: 's',
      key: 's',
      features: new Set<string>(),
      callCreds: [],
      channelCreds: { type: 'insecure', config: undefined },
    },
  });

  it('is about as much for 10,000 names as for 100', () => {
    const workOf = (count: number): number => {
      const source = new ManualSource();
      const resources = new UpstreamResources(source, new FakeClock());
      const all = Array.from({ length: count }, (_, i) => `name-${i}`);
      resources.refer(EDS, all, []);
      for (const name of all) source.serve(name, value(name));
      const stream = createDeltaSubscriptions(resources.resourcesFor());
      stream.onRequest({
        typeUrl: EDS,
        subscribe: all,
        unsubscribe: [],
        initialVersions: new Map(),
        responseNonce: '',
        errorMessage: undefined,
      });
      let sent = 0;
      resources.watch(() => {
        const responses = stream.onChanged(resources.resourcesFor(), new ViewChanges());
        sent += responses.flatMap((response) => response.resources).length;
      });
      const work = countWork(() => source.serve('name-50', value('changed')));
      expect(sent).toBe(1);
      return work;
    };
    const few = workOf(100);
    // The layer of a large map has up to its square root of names.
    expect(workOf(10_000)).toBeLessThan(few + 200);
  });
});
