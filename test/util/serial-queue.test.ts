import { SerialQueue } from '../../src/util/serial-queue';

function setUp() {
  const log: string[] = [];
  const errors: unknown[] = [];
  const queue = new SerialQueue(
    (error) => errors.push(error),
    () => log.push('drained'),
  );
  return { queue, log, errors };
}

describe('SerialQueue', () => {
  it('runs a task at once when idle', () => {
    const { queue, log } = setUp();
    queue.run(() => log.push('task'));
    expect(log).toEqual(['task', 'drained']);
  });

  it('runs a task added inside a task after it, before the outer run returns', () => {
    const { queue, log } = setUp();
    queue.run(() => {
      queue.run(() => {
        log.push('second');
        queue.run(() => log.push('fourth'));
      });
      queue.run(() => log.push('third'));
      log.push('first');
    });
    expect(log).toEqual(['first', 'second', 'third', 'fourth', 'drained']);
  });

  it('reports an exception of a task and runs the others', () => {
    const { queue, log, errors } = setUp();
    const failure = new Error('broken task');
    queue.run(() => {
      queue.run(() => log.push('after'));
      throw failure;
    });
    expect(errors).toEqual([failure]);
    expect(log).toEqual(['after', 'drained']);
    queue.run(() => log.push('later'));
    expect(log).toEqual(['after', 'drained', 'later', 'drained']);
  });

  it('runs tasks added in the drained callback and calls it again after them', () => {
    const log: string[] = [];
    let more = 2;
    const queue = new SerialQueue(
      () => log.push('error'),
      () => {
        log.push('drained');
        if (more-- > 0) queue.run(() => log.push('more'));
      },
    );
    queue.run(() => log.push('task'));
    expect(log).toEqual(['task', 'drained', 'more', 'drained', 'more', 'drained']);
  });

  it('reports an exception of the drained callback', () => {
    const errors: unknown[] = [];
    const failure = new Error('broken end');
    const queue = new SerialQueue(
      (error) => errors.push(error),
      () => {
        throw failure;
      },
    );
    queue.run(() => {});
    expect(errors).toEqual([failure]);
  });

  it('runs the tasks after one whose error callback throws, and then throws that', () => {
    const log: string[] = [];
    const queue = new SerialQueue(
      (error) => {
        throw error;
      },
      () => log.push('drained'),
    );
    const fail = (text: string) => () => {
      throw new Error(text);
    };
    const run = () =>
      queue.run(() => {
        queue.run(fail('first'));
        queue.run(fail('second'));
        queue.run(() => log.push('after'));
      });
    expect(run).toThrow('first');
    expect(log).toEqual(['after', 'drained']);
  });

  it('is usable after the error callback itself has thrown', () => {
    const log: string[] = [];
    let strict = true;
    const queue = new SerialQueue((error) => {
      if (strict) throw error;
    });
    const fail = () =>
      queue.run(() => {
        throw new Error('unbearable');
      });
    expect(fail).toThrow('unbearable');
    strict = false;
    queue.run(() => log.push('works'));
    expect(log).toEqual(['works']);
  });
});
