import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Snapshot } from '../../src/control-plane';
import { createDeltaSubscriptions } from '../../src/control-plane/ads/delta-subscription';
import { SnapshotChanges } from '../../src/control-plane/snapshot/snapshot-change';
import { clusterKind, endpointKind } from '../../src/control-plane/snapshot/resource-kind';
import { CDS, cluster } from './resources';

const of = (...names: readonly string[]) =>
  Snapshot.from({ clusters: names.map((name) => cluster(name)) });

describe('the changes that streams apply at one time', () => {
  it('are one object for streams with the same snapshots, which compares the sets of a kind once', () => {
    const changes = new SnapshotChanges();
    const [first, second, third] = [of('a', 'b'), of('b', 'c'), of('c')];
    const change = changes.between(first, second);
    expect([...change.changedNames(clusterKind)].sort()).toEqual(['a', 'c']);
    expect(change.changedNames(endpointKind)).toEqual([]);
    expect(changes.between(first, second)).toBe(change);
    expect(change.changedNames(clusterKind)).toBe(change.changedNames(clusterKind));
    expect(changes.between(first, third)).not.toBe(change);
    expect([...changes.between(first, third).changedNames(clusterKind)].sort()).toEqual([
      'a',
      'b',
      'c',
    ]);
    expect(changes.between(second, second).changedNames(clusterKind)).toEqual([]);
  });

  it('do not keep the snapshots before the last one', async () => {
    setFlagsFromString('--expose-gc');
    const gc: unknown = runInNewContext('gc');
    if (typeof gc !== 'function') throw new Error('there is no garbage collector to call');
    const stream = createDeltaSubscriptions(of('a', 'b'));
    stream.onRequest({
      ...{ typeUrl: CDS, subscribe: ['*'], unsubscribe: [], initialVersions: new Map() },
      ...{ responseNonce: '', errorMessage: undefined },
    });
    const previous = Array.from({ length: 20 }, (_, i) => {
      const snapshot = of('a', `b${i}`);
      stream.onSnapshot(snapshot);
      return new WeakRef(snapshot.set(clusterKind));
    });
    // A weak reference keeps its target until the end of the current task.
    await new Promise((resolve) => setImmediate(resolve));
    gc();
    const kept = previous.filter((set) => set.deref() !== undefined);
    expect(kept.length).toBeLessThan(previous.length / 2);
    expect(stream.describe().size).toBe(1);
  });
});
