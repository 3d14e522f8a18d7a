import { Serializer } from '../../src/util/serializer';

function setUp() {
  const log: string[] = [];
  const errors: unknown[] = [];
  const serializer = new Serializer(
    (error) => errors.push(error),
    () => log.push('drained'),
  );
  return { serializer, log, errors };
}

describe('Serializer', () => {
  it('runs a task at once when idle', () => {
    const { serializer, log } = setUp();
    serializer.run(() => log.push('task'));
    expect(log).toEqual(['task', 'drained']);
  });

  it('runs a task added inside a task after it, before the outer run returns', () => {
    const { serializer, log } = setUp();
    serializer.run(() => {
      serializer.run(() => {
        log.push('second');
        serializer.run(() => log.push('fourth'));
      });
      serializer.run(() => log.push('third'));
      log.push('first');
    });
    expect(log).toEqual(['first', 'second', 'third', 'fourth', 'drained']);
  });

  it('reports an exception of a task and runs the others', () => {
    const { serializer, log, errors } = setUp();
    const failure = new Error('broken task');
    serializer.run(() => {
      serializer.run(() => log.push('after'));
      throw failure;
    });
    expect(errors).toEqual([failure]);
    expect(log).toEqual(['after', 'drained']);
    serializer.run(() => log.push('later'));
    expect(log).toEqual(['after', 'drained', 'later', 'drained']);
  });

  it('runs tasks added in the drained callback and calls it again after them', () => {
    const log: string[] = [];
    let more = 2;
    const serializer = new Serializer(
      () => log.push('error'),
      () => {
        log.push('drained');
        if (more-- > 0) serializer.run(() => log.push('more'));
      },
    );
    serializer.run(() => log.push('task'));
    expect(log).toEqual(['task', 'drained', 'more', 'drained', 'more', 'drained']);
  });

  it('reports an exception of the drained callback', () => {
    const errors: unknown[] = [];
    const failure = new Error('broken end');
    const serializer = new Serializer(
      (error) => errors.push(error),
      () => {
        throw failure;
      },
    );
    serializer.run(() => {});
    expect(errors).toEqual([failure]);
  });

  it('runs the tasks after one whose error callback throws, and then throws that', () => {
    const log: string[] = [];
    const serializer = new Serializer(
      (error) => {
        throw error;
      },
      () => log.push('drained'),
    );
    const fail = (text: string) => () => {
      throw new Error(text);
    };
    const run = () =>
      serializer.run(() => {
        serializer.run(fail('first'));
        serializer.run(fail('second'));
        serializer.run(() => log.push('after'));
      });
    expect(run).toThrow('first');
    expect(log).toEqual(['after', 'drained']);
  });

  it('is usable after the error callback itself has thrown', () => {
    const log: string[] = [];
    let strict = true;
    const serializer = new Serializer((error) => {
      if (strict) throw error;
    });
    const fail = () =>
      serializer.run(() => {
        throw new Error('unbearable');
      });
    expect(fail).toThrow('unbearable');
    strict = false;
    serializer.run(() => log.push('works'));
    expect(log).toEqual(['works']);
  });

  it('divides long work between turns, in the order of its tasks', () => {
    const log: string[] = [];
    const turns: (() => void)[] = [];
    let inTurn = 0;
    const serializer = new Serializer(
      () => log.push('error'),
      () => log.push('drained'),
      () => (inTurn = 0),
      (drain) => inTurn === 2 && turns.push(drain) > 0,
    );
    const add = (name: string) =>
      serializer.run(() => {
        log.push(name);
        inTurn++;
      });
    serializer.run(() => {
      for (const name of ['a', 'b', 'c']) add(name);
    });
    expect(log).toEqual(['a', 'b']);
    add('d');
    expect(log).toEqual(['a', 'b']);
    turns.shift()?.();
    expect(log).toEqual(['a', 'b', 'c', 'd', 'drained']);
    expect(turns).toEqual([]);
    add('e');
    expect(log).toEqual(['a', 'b', 'c', 'd', 'drained', 'e', 'drained']);
  });
});
