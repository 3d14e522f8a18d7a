import { ClusterUpdates, type ClusterUser } from '../../../src/lb/cds/cluster-updates';
import { LbHarness } from '../../support/lb-harness';

function setUp() {
  const { batch, clock, environment, errors } = new LbHarness();
  const updates = new ClusterUpdates(batch, environment.timeSlices);
  const readClock = clock.monotonicMs.bind(clock);
  let spentMs = 0;
  jest.spyOn(clock, 'monotonicMs').mockImplementation(() => readClock() + spentMs);
  const log: string[] = [];
  /** The number of batches in which something was applied. */
  let batches = 0;
  const publication = batch.createPublication(0, { publish: () => batches++ });
  /** @param costMs How long it takes to apply the cluster. */
  const user = (name: string, costMs = 0): ClusterUser => ({
    applyCluster: () => {
      log.push(name);
      spentMs += costMs;
      publication.request();
      if (name === 'broken') throw new Error('bug');
    },
  });
  const add = (...users: readonly ClusterUser[]) =>
    batch.run(() => {
      for (const each of users) updates.add(each);
    });
  return { add, batches: () => batches, clock, errors, log, updates, user };
}

describe('ClusterUpdates', () => {
  it('applies little at once, in order, in one batch', () => {
    const { add, batches, clock, log, user } = setUp();
    add(user('a'), user('b'));
    expect(log).toEqual(['a', 'b']);
    expect([batches(), clock.pendingTimers]).toEqual([1, 0]);
  });

  it('applies much in several turns, some in a batch each', () => {
    const { add, batches, clock, log, user } = setUp();
    add(...['a', 'b', 'c', 'd', 'e'].map((name) => user(name, 0.2)));
    expect(log.splice(0)).toEqual(['a', 'b']);
    clock.advance(1);
    expect(log.splice(0)).toEqual(['c', 'd']);
    clock.advance(1);
    expect(log).toEqual(['e']);
    expect([batches(), clock.pendingTimers]).toEqual([3, 0]);
  });

  it('applies a cluster once that changes again before its turn', () => {
    const { add, clock, log, user } = setUp();
    const [a, b] = [user('a', 10), user('b')];
    add(a, b);
    add(b, a);
    expect(log.splice(0)).toEqual(['a']);
    clock.advance(1);
    clock.advance(1);
    expect(log).toEqual(['b', 'a']);
  });

  it('leaves out a policy that was destroyed meanwhile', () => {
    const { add, clock, log, updates, user } = setUp();
    const b = user('b');
    add(user('a', 10), b, user('c'));
    updates.delete(b);
    clock.advance(1);
    expect(log).toEqual(['a', 'c']);
  });

  it('applies the others after one that throws', () => {
    const { add, errors, log, user } = setUp();
    add(user('broken'), user('a'));
    expect(log).toEqual(['broken', 'a']);
    expect(errors).toEqual([new Error('bug')]);
  });
});
