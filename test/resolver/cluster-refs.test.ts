import { ClusterRefs } from '../../src/resolver/cluster-refs';
import { createHandle } from '../../src/util/handle';
import type { Steps } from '../../src/util/steps';

function setUp() {
  const log: string[] = [];
  const refs: ClusterRefs = new ClusterRefs(
    (cluster) => {
      log.push(`subscribe ${cluster}`);
      return createHandle(() => log.push(`unsubscribe ${cluster}`));
    },
    (cluster) => ({ policyName: `policy of ${cluster}` }),
    () => log.push(`unused; left: ${names(refs)}`),
  );
  return { refs, log };
}

function names(refs: ClusterRefs): string {
  return [...refs.all()].map(({ childName }) => childName).join(' ');
}

describe('ClusterRefs', () => {
  it('subscribes to a cluster once and names its child', () => {
    const { refs, log } = setUp();
    const first = refs.acquire('a');
    refs.acquire('a');
    expect(log).toEqual(['subscribe a']);
    expect([first.cluster, first.childName]).toEqual(['a', 'cluster:a']);
    expect([...refs.all()].map(({ lbConfig }) => lbConfig)).toEqual([
      { policyName: 'policy of a' },
    ]);
  });

  it('removes a cluster with the release of its last reference', () => {
    const { refs, log } = setUp();
    const ref = refs.acquire('a');
    refs.acquire('b');
    const another = ref.acquire();
    ref.release();
    expect(log).toEqual(['subscribe a', 'subscribe b']);
    another.release();
    expect(names(refs)).toBe('cluster:b');
    expect(log.slice(2).sort()).toEqual(['unsubscribe a', 'unused; left: cluster:b']);
  });

  it('counts the release of a reference once', () => {
    const { refs } = setUp();
    const ref = refs.acquire('a');
    refs.acquire('a');
    ref.release();
    ref.release();
    expect([ref.isReleased, names(refs)]).toEqual([true, 'cluster:a']);
  });

  it('subscribes again to a cluster that is acquired again', () => {
    const { refs, log } = setUp();
    refs.acquire('a').release();
    refs.acquire('a');
    expect(log.filter((line) => line === 'subscribe a')).toHaveLength(2);
    expect(names(refs)).toBe('cluster:a');
  });

  it('counts added and removed clusters in its revision, not their references', () => {
    const { refs } = setUp();
    const start = refs.revision;
    const ref = refs.acquire('a');
    const joined = refs.revision;
    const another = refs.acquire('a');
    ref.release();
    expect([joined > start, refs.revision]).toEqual([true, joined]);
    another.release();
    expect(refs.revision).toBeGreaterThan(joined);
  });

  it('has removed the cluster when its subscription ends', () => {
    const seen: string[] = [];
    const refs: ClusterRefs = new ClusterRefs(
      () => createHandle(() => seen.push(names(refs))),
      (cluster) => ({ policyName: cluster }),
      () => {},
    );
    refs.acquire('b');
    refs.acquire('a').release();
    expect(seen).toEqual(['cluster:b']);
  });

  it('treats names of object members as ordinary names', () => {
    const { refs } = setUp();
    refs.acquire('constructor');
    refs.acquire('__proto__');
    expect(names(refs)).toBe('cluster:constructor cluster:__proto__');
  });

  describe('that releases the references of a table', () => {
    function setUpTable(count: number) {
      const queued: Steps<void>[] = [];
      const unused: number[] = [];
      const refs: ClusterRefs = new ClusterRefs(
        () => createHandle(() => {}),
        () => ({ policyName: 'p' }),
        () => unused.push([...refs.all()].length),
        (steps) => queued.push(steps),
      );
      const table = new Map(
        Array.from({ length: count }, (_, i) => [`c${i}`, refs.acquire(`c${i}`)]),
      );
      return { queued, refs, table, unused };
    }

    it('releases those of a small one at once', () => {
      const { queued, refs, table } = setUpTable(10);
      refs.releaseAll(table);
      expect([queued.length, names(refs)]).toEqual([0, '']);
    });

    it('releases those of a large one in steps, and reports its clusters together', () => {
      const { queued, refs, table, unused } = setUpTable(3000);
      const other = refs.acquire('c2999');
      refs.releaseAll(table);
      expect([...refs.all()]).toHaveLength(3000);
      const [steps] = queued;
      let most = 0;
      for (let left = 3000; steps?.next().done === false;) {
        const now = [...refs.all()].length;
        most = Math.max(most, left - now);
        left = now;
      }
      expect(most).toBeLessThanOrEqual(256);
      expect(unused).toEqual([1]);
      other.release();
      expect(unused).toEqual([1, 0]);
    });

    it('releases nothing once it is closed', () => {
      const { queued, refs, table, unused } = setUpTable(3000);
      refs.close();
      refs.releaseAll(table);
      expect([queued.length, unused.length]).toEqual([0, 0]);
    });
  });
});
