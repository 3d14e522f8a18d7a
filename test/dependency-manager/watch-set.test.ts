import { WatchSet, type RunInSlices } from '../../src/dependency-manager/watch-set';
import { createHandle } from '../../src/util/handle';
import { runSteps, type Steps } from '../../src/util/steps';

type Report = (next: (before: string) => string) => void;

function setUp(runInSlices?: RunInSlices) {
  const log: string[] = [];
  const reports = new Map<string, Report>();
  const observed: (string | undefined)[] = [];
  const set = new WatchSet<number, string>(
    'nothing yet',
    (name, key, report) => {
      log.push(`+${name}=${key}`);
      reports.set(name, report);
      return createHandle(() => log.push(`-${name}`));
    },
    () => observed.push(set.get('a')),
    runInSlices,
  );
  const reconcile = (
    names: Readonly<Record<string, number>>,
    kept?: Readonly<Record<string, number>>,
  ) => set.reconcile(new Map(Object.entries(names)), kept && new Map(Object.entries(kept)));
  const report = (name: string, next: (before: string) => string) => reports.get(name)?.(next);
  return { set, log, reports, reconcile, report, observed };
}

describe('WatchSet', () => {
  it('starts what is needed, once, with its key', () => {
    const { set, log, reconcile } = setUp();
    reconcile({ a: 1, b: 2 });
    reconcile({ a: 1, b: 2 });
    expect(log).toEqual(['+a=1', '+b=2']);
    expect([set.get('a'), set.get('c')]).toEqual(['nothing yet', undefined]);
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

  it('keeps what was reported, and passes each report what was known before', () => {
    const { reconcile, report, observed } = setUp();
    reconcile({ a: 1 });
    report('a', (before) => `${before}, then one`);
    report('a', (before) => `${before}, then two`);
    expect(observed).toEqual(['nothing yet, then one', 'nothing yet, then one, then two']);
  });

  it('ignores the reports of a watch that has ended, also when there is a new one', () => {
    const { set, reports, reconcile, observed } = setUp();
    reconcile({ a: 1 });
    const late = reports.get('a');
    reconcile({});
    late?.(() => 'late');
    reconcile({ a: 1 });
    late?.(() => 'late');
    expect(set.get('a')).toBe('nothing yet');
    expect(observed).toEqual([]);
  });

  it('ends everything when cleared', () => {
    const { set, log, reconcile, observed, report } = setUp();
    reconcile({ a: 1, b: 2 });
    set.clear();
    set.clear();
    expect(log.slice(2)).toEqual(['-a', '-b']);
    expect(set.get('a')).toBeUndefined();
    report('a', () => 'late');
    expect(observed).toEqual([]);
  });

  it('treats names of object members as ordinary names', () => {
    const { set, log } = setUp();
    expect(set.get('constructor')).toBeUndefined();
    set.reconcile(new Map([['__proto__', 1]]));
    expect(log).toEqual(['+__proto__=1']);
  });

  describe('with many watches to start', () => {
    const numbered = (prefix: string) =>
      new Map(Array.from({ length: 1000 }, (_, i) => [`${prefix}${i}`, i] as const));

    function setUpSlices() {
      const works: { readonly steps: Steps<void>; isReleased: boolean }[] = [];
      const scene = setUp((steps) => {
        const work = { steps, isReleased: false };
        works.push(work);
        return createHandle(() => (work.isReleased = true));
      });
      return { ...scene, works };
    }

    it('starts none at once, and few in each step', () => {
      const { log, set, works } = setUpSlices();
      set.reconcile(numbered('a'));
      expect(log).toEqual([]);
      let before = 0;
      for (let isDone = false; !isDone; before = log.length) {
        isDone = works[0]?.steps.next().done === true;
        expect(log.length - before).toBeLessThanOrEqual(64);
      }
      expect(log).toHaveLength(1000);
      set.reconcile(numbered('a'));
      expect([log.length, works.length]).toEqual([1000, 1]);
    });

    it('starts a few of them at once', () => {
      const { log, reconcile, works } = setUpSlices();
      reconcile({ a: 1, b: 2 });
      expect([log.length, works.length]).toEqual([2, 0]);
    });

    it('starts no more of those that are not needed any more', () => {
      const { log, set, works } = setUpSlices();
      set.reconcile(numbered('a'));
      works[0]?.steps.next();
      const started = log.length;
      const needed = numbered('b').set('a0', 0);
      set.reconcile(needed);
      expect(works.map(({ isReleased }) => isReleased)).toEqual([true, false]);
      expect(log).toHaveLength(started);
      if (works[1] !== undefined) runSteps(works[1].steps);
      expect(log).toHaveLength(started + started - 1 + 1000);
      expect([set.get('a0'), set.get('a1'), set.get('b999')]).toEqual([
        'nothing yet',
        undefined,
        'nothing yet',
      ]);
    });

    /** Runs all steps. @returns the entries of the log that each made. */
    function sizesOfSteps(steps: Steps<void> | undefined, log: readonly string[]) {
      const sizes: number[] = [];
      for (let isDone = false, before = log.length; !isDone; before = log.length) {
        isDone = steps === undefined || steps.next().done === true;
        sizes.push(log.length - before);
      }
      return sizes;
    }

    it('releases many in steps, and before it starts anything', () => {
      const { log, set, works } = setUpSlices();
      set.reconcile(numbered('a'));
      sizesOfSteps(works[0]?.steps, log);
      set.reconcile(new Map([['b', 1]]));
      expect(log).toHaveLength(1000);
      const sizes = sizesOfSteps(works[1]?.steps, log);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(64);
      expect(log.slice(1000)).toEqual([
        ...Array.from({ length: 1000 }, (_, i) => `-a${i}`),
        '+b=1',
      ]);
      expect(set.get('a999')).toBeUndefined();
    });

    it('compares many names in steps although few differ', () => {
      const { log, set, works } = setUpSlices();
      const many = (last: string) =>
        new Map([...Array.from({ length: 5000 }, (_, i) => [`a${i}`, i] as const), [last, 1]]);
      set.reconcile(many('b'));
      sizesOfSteps(works[0]?.steps, log);
      set.reconcile(many('c'));
      expect(log).toHaveLength(5001);
      const sizes = sizesOfSteps(works[1]?.steps, log);
      expect(sizes.length).toBeGreaterThan(10_000 / 256);
      expect(log.slice(5001)).toEqual(['-b', '+c=1']);
    });

    it('starts no more of them once it is cleared', () => {
      const { set, works } = setUpSlices();
      set.reconcile(numbered('a'));
      set.clear();
      expect(works[0]?.isReleased).toBe(true);
    });
  });
});
