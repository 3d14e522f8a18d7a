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
  return [...refs.values()].map((ref) => ref.childName).join(' ');
}

describe('ClusterRefs', () => {
  it('subscribes to a cluster once and names its child', () => {
    const { refs, log } = setUp();
    const first = refs.hold('a');
    expect(refs.hold('a')).toBe(first);
    expect(log).toEqual(['subscribe a']);
    expect(first.childName).toBe('cluster:a');
    expect(first.lbConfig.policyName).toBe('policy of a');
  });

  it('gives a cluster up when nobody holds it any more', () => {
    const { refs, log } = setUp();
    const ref = refs.hold('a');
    refs.hold('b');
    ref.hold();
    ref.letGo();
    expect(log).toEqual(['subscribe a', 'subscribe b']);
    ref.letGo();
    expect(names(refs)).toBe('cluster:b');
    expect(log.slice(2).sort()).toEqual(['unsubscribe a', 'unused; left: cluster:b']);
  });

  it('makes a new ref for a cluster that comes back', () => {
    const { refs } = setUp();
    const old = refs.hold('a');
    old.letGo();
    expect(refs.hold('a')).not.toBe(old);
  });

  it('counts in its revision the clusters that come and go, not their holders', () => {
    const { refs } = setUp();
    const start = refs.revision;
    const ref = refs.hold('a');
    const joined = refs.revision;
    refs.hold('a');
    ref.letGo();
    expect([joined > start, refs.revision]).toEqual([true, joined]);
    ref.letGo();
    expect(refs.revision).toBeGreaterThan(joined);
  });

  it('has left the set, as a reader sees it, when its subscription ends', () => {
    const seen: string[] = [];
    const refs: ClusterRefs = new ClusterRefs(
      () => createHandle(() => seen.push(names(refs))),
      (cluster) => ({ policyName: cluster }),
      () => {},
    );
    refs.hold('b');
    refs.hold('a').letGo();
    expect(seen).toEqual(['cluster:b']);
  });

  it('treats names of object members as ordinary names', () => {
    const { refs } = setUp();
    refs.hold('constructor');
    refs.hold('__proto__');
    expect(names(refs)).toBe('cluster:constructor cluster:__proto__');
  });
});
