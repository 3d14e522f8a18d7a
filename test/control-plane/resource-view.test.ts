import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Snapshot } from '../../src/control-plane';
import { createDeltaSubscriptions } from '../../src/control-plane/ads/delta-subscription';
import { createSotwSubscriptions } from '../../src/control-plane/ads/sotw-subscription';
import { ViewChanges, type ServedResources } from '../../src/control-plane/ads/resource-view';
import { clusterKind } from '../../src/control-plane/resource';
import { serveSnapshot } from '../../src/control-plane/snapshot/snapshot-store';
import { CDS, EDS, cluster } from './resources';

const of = (...names: readonly string[]) =>
  serveSnapshot(Snapshot.from({ clusters: names.map((name) => cluster(name)) }));

describe('the changes that streams apply at one time', () => {
  it('are one object for streams with the same snapshots, which compares the sets of a kind once', () => {
    const changes = new ViewChanges();
    const [first, second, third] = [of('a', 'b'), of('b', 'c'), of('c')];
    const change = changes.between(first, second);
    expect([...change.changedNames(CDS)].sort()).toEqual(['a', 'c']);
    expect(change.changedNames(EDS)).toEqual([]);
    expect(changes.between(first, second)).toBe(change);
    expect(change.changedNames(CDS)).toBe(change.changedNames(CDS));
    expect(changes.between(first, third)).not.toBe(change);
    expect([...changes.between(first, third).changedNames(CDS)].sort()).toEqual(['a', 'b', 'c']);
    expect(changes.between(second, second).changedNames(CDS)).toEqual([]);
  });

  it('do not keep the snapshots before the last one', async () => {
    setFlagsFromString('--expose-gc');
    const gc: unknown = runInNewContext('gc');
    if (typeof gc !== 'function') throw new Error('there is no garbage collector to call');
    const stream = createDeltaSubscriptions(of('a', 'b'));
    stream.onRequest({
      typeUrl: CDS,
      subscribe: ['*'],
      unsubscribe: [],
      initialVersions: new Map(),
      responseNonce: '',
      errorMessage: undefined,
    });
    const previous = Array.from({ length: 20 }, (_, i) => {
      const snapshot = of('a', `b${i}`);
      stream.onChanged(snapshot);
      return new WeakRef(snapshot.snapshot.set(clusterKind));
    });
    // A weak reference keeps its target until the end of the current task.
    await new Promise((resolve) => setImmediate(resolve));
    gc();
    const kept = previous.filter((set) => set.deref() !== undefined);
    expect(kept.length).toBeLessThan(previous.length / 2);
    expect(stream.describe().size).toBe(1);
  });
});

describe('a view whose resources arrive after they were requested', () => {
  const OTHER = 'type.googleapis.com/example.Unknown';
  /** Bytes that are no message of any type. */
  const value = new Uint8Array([0xff, 0x01]);
  /** Returns resources of one type by name, of which some are pending. `settled` counts the pending ones that are known. */
  const serve = (
    typeUrl: string,
    names: readonly string[],
    { pending = [], settled = 0 }: { pending?: readonly string[]; settled?: number } = {},
  ): ServedResources => {
    const kind = { ...clusterKind, typeUrl };
    const resources = names.map((name) => ({
      kind,
      name,
      value,
      version: '7',
      aliases: [],
      ttlMs: undefined,
      digest: name,
    }));
    const byName = new Map(resources.map((resource) => [resource.name, resource]));
    const version = `${names.join()} ${settled}`;
    return {
      set: (url) =>
        url === typeUrl ? { byName, errors: new Map(), byAlias: new Map(), version } : undefined,
      isPending: (url, name) => url === typeUrl && pending.includes(name),
    };
  };
  const request = { responseNonce: '', errorMessage: undefined };

  it('sends their bytes and versions as they are, of any type', () => {
    const stream = createDeltaSubscriptions(serve(OTHER, ['a']));
    const { response } = stream.onRequest({
      ...request,
      typeUrl: OTHER,
      subscribe: ['a'],
      unsubscribe: [],
      initialVersions: new Map(),
    });
    expect(response?.resources.map((sent) => sent.value)).toEqual([value]);
    expect(response?.resources.map((sent) => sent.version)).toEqual(['7']);
    expect(stream.onChanged(serve(OTHER, [])).map(({ removed }) => removed)).toEqual([['a']]);
  });

  it('removes none of an incremental client while it is pending', () => {
    const stream = createDeltaSubscriptions(serve(CDS, ['a'], { pending: ['b', 'c'] }));
    const { response } = stream.onRequest({
      ...request,
      typeUrl: CDS,
      subscribe: ['a', 'b', 'c'],
      unsubscribe: [],
      initialVersions: new Map([['b', '6']]),
    });
    const show = ({ resources, removed }: NonNullable<typeof response>) => [
      resources.map(({ name }) => name),
      removed,
    ];
    expect(response && show(response)).toEqual([['a'], []]);
    expect(stream.onChanged(serve(CDS, ['a', 'b'], { pending: ['c'] })).map(show)).toEqual([
      [['b'], []],
    ]);
    expect(stream.onChanged(serve(CDS, ['a', 'b'], { settled: 1 })).map(show)).toEqual([
      [[], ['c']],
    ]);
  });

  it.each([
    ['names, of a client that may have them', ['a', 'b'], 'b'],
    ['all resources', ['*'], '*'],
  ])('leaves none out of a complete response to a subscription to %s', (_of, names, pending) => {
    const stream = createSotwSubscriptions(serve(CDS, ['a'], { pending: [pending] }));
    const subscription = { ...request, typeUrl: CDS, resourceNames: names, versionInfo: '6' };
    expect(stream.onRequest(subscription).response).toBeUndefined();
    const [response] = stream.onChanged(serve(CDS, ['a'], { settled: 1 }));
    expect(response?.resources.map(({ name }) => name)).toEqual(['a']);
  });

  it('holds back none of the others from a client that has not had it', () => {
    const namesOf = (response: { resources: readonly { name: string }[] } | undefined) =>
      response?.resources.map(({ name }) => name);
    const stream = createSotwSubscriptions(serve(CDS, ['a'], { pending: ['b', 'c'] }));
    const subscription = { ...request, typeUrl: CDS, resourceNames: ['a', 'b', 'c'] };
    expect(namesOf(stream.onRequest(subscription).response)).toEqual(['a']);
    const [second, ...others] = stream.onChanged(serve(CDS, ['a', 'b'], { pending: ['c'] }));
    expect([namesOf(second), others]).toEqual([['a', 'b'], []]);
    // The client has it now, and a response without it would remove it.
    expect(stream.onChanged(serve(CDS, ['b'], { pending: ['a', 'c'], settled: 1 }))).toEqual([]);
    const [last] = stream.onChanged(serve(CDS, ['b'], { settled: 3 }));
    expect(namesOf(last)).toEqual(['b']);
    const none = createSotwSubscriptions(serve(CDS, [], { pending: ['a'] }));
    expect(none.onRequest({ ...subscription, resourceNames: ['a'] }).response).toBeUndefined();
  });

  it('answers a wildcard without resources when they are known', () => {
    const stream = createDeltaSubscriptions(serve(CDS, [], { pending: ['*'] }));
    const { response } = stream.onRequest({
      ...request,
      typeUrl: CDS,
      subscribe: ['*'],
      unsubscribe: [],
      initialVersions: new Map(),
    });
    expect(response).toBeUndefined();
    expect(stream.onChanged(serve(CDS, [], { settled: 1 }))).toHaveLength(1);
  });
});
