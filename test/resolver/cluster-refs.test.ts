import { ClusterRefs } from '../../src/resolver/cluster-refs';
import { createHandle } from '../../src/util/handle';

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
    function setUpTable() {
      const log: string[] = [];
      const refs: ClusterRefs = new ClusterRefs(
        (cluster) => createHandle(() => log.push(`unsubscribe ${cluster}`)),
        () => ({ policyName: 'p' }),
        () => {},
        (task) => {
          log.push('task begins');
          task();
          log.push('task ends');
        },
      );
      const table = new Map(['a', 'b', 'c'].map((name) => [name, refs.acquire(name)]));
      return { log, refs, table };
    }

    it('releases all in one task', () => {
      const { log, refs, table } = setUpTable();
      const other = refs.acquire('c');
      refs.releaseAll(table);
      expect(log.splice(0)).toEqual(['task begins', 'unsubscribe a', 'unsubscribe b', 'task ends']);
      other.release();
      expect(log).toEqual(['unsubscribe c']);
    });

    it('releases nothing once it is closed', () => {
      const { log, refs, table } = setUpTable();
      refs.close();
      refs.releaseAll(table);
      expect(log).toEqual([]);
    });
  });
});
