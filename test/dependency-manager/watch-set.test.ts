import { WatchSet } from '../../src/dependency-manager/watch-set';
import { createHandle } from '../../src/util/handle';
import { ok } from '../../src/util/result';

const waiting = { kind: 'waiting' };
const valueOf = (value: string) => ({ kind: 'value', value, ambient: undefined });

type Report = (value: string) => void;

function setUp() {
  const log: string[] = [];
  const reports = new Map<string, Report>();
  const observed: unknown[] = [];
  const set = new WatchSet<number, string>(
    (name, watcher, key) => {
      log.push(`+${name}=${key}`);
      reports.set(name, (value) => watcher.onResourceChanged(ok(value)));
      return createHandle(() => log.push(`-${name}`));
    },
    () => observed.push(set.get('a')),
  );
  const reconcile = (
    names: Readonly<Record<string, number>>,
    kept?: Readonly<Record<string, number>>,
  ) => set.reconcile(new Map(Object.entries(names)), kept && new Map(Object.entries(kept)));
  const report = (name: string, observed: string) => reports.get(name)?.(observed);
  return { set, log, reports, reconcile, report, observed };
}

describe('WatchSet', () => {
  it('starts what is needed, once, with its key', () => {
    const { set, log, reconcile } = setUp();
    reconcile({ a: 1, b: 2 });
    reconcile({ a: 1, b: 2 });
    expect(log).toEqual(['+a=1', '+b=2']);
    expect([set.get('a'), set.get('c')]).toEqual([waiting, undefined]);
  });

  it('ends what is needed no more, before it starts anything', () => {
    const { log, reconcile } = setUp();
    reconcile({ a: 1, b: 2 });
    reconcile({ b: 2, c: 3 });
    expect(log.slice(2)).toEqual(['-a', '+c=3']);
  });

  it('does not go through what is needed when the same comes again', () => {
    const { set, log } = setUp();
    const needed = new Map([['a', 1]]);
    const entries = jest.spyOn(needed, 'entries');
    const kept = new Map([['b', 2]]);
    set.reconcile(needed, kept);
    set.reconcile(needed, kept);
    set.reconcile(needed);
    set.reconcile(needed);
    expect(entries).toHaveBeenCalledTimes(2);
    set.clear();
    set.reconcile(needed);
    expect(log).toEqual(['+a=1', '-a', '+a=1']);
  });

  it('ends what it kept when the same is needed without them', () => {
    const { set, log, reconcile } = setUp();
    reconcile({ a: 1 });
    const needed = new Map([['b', 2]]);
    set.reconcile(needed, new Map([['a', 1]]));
    set.reconcile(needed);
    expect(log).toEqual(['+a=1', '+b=2', '-a']);
  });

  it('keeps what it is given to keep, and ends what is neither that nor needed', () => {
    const { log, reconcile } = setUp();
    reconcile({ a: 1 });
    reconcile({ c: 3 }, { a: 1 });
    expect(log).toEqual(['+a=1', '+c=3']);
    reconcile({ d: 4 }, { a: 1 });
    expect(log.slice(2)).toEqual(['-c', '+d=4']);
    reconcile({ d: 4 });
    expect(log.at(-1)).toBe('-a');
  });

  it('keeps what was reported last', () => {
    const { reconcile, report, observed } = setUp();
    reconcile({ a: 1 });
    report('a', 'one');
    report('a', 'two');
    expect(observed).toEqual([valueOf('one'), valueOf('two')]);
  });

  it('ignores the reports of a watch that has ended, also when there is a new one', () => {
    const { set, reports, reconcile, observed } = setUp();
    reconcile({ a: 1 });
    const late = reports.get('a');
    reconcile({});
    late?.('late');
    reconcile({ a: 1 });
    late?.('late');
    expect(set.get('a')).toEqual(waiting);
    expect(observed).toEqual([]);
  });

  it('ends everything when cleared', () => {
    const { set, log, reconcile, observed, report } = setUp();
    reconcile({ a: 1, b: 2 });
    set.clear();
    set.clear();
    expect(log.slice(2)).toEqual(['-a', '-b']);
    expect(set.get('a')).toBeUndefined();
    report('a', 'late');
    expect(observed).toEqual([]);
  });

  it('treats names of object members as ordinary names', () => {
    const { set, log } = setUp();
    expect(set.get('constructor')).toBeUndefined();
    set.reconcile(new Map([['__proto__', 1]]));
    expect(log).toEqual(['+__proto__=1']);
  });
});
