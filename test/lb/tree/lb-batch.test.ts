import { LbBatch } from '../../../src/lb/tree/lb-batch';

function setUp() {
  const log: string[] = [];
  const batch = new LbBatch((error) => log.push(`error ${String(error)}`));
  return { batch, log };
}

describe('LbBatch', () => {
  it('publishes once, after everything of the batch has happened', () => {
    const { batch, log } = setUp();
    const publication = batch.createPublication(0, { publish: () => log.push('publish') });
    batch.run(() => {
      publication.request();
      publication.request();
      batch.run(() => log.push('set off'));
      log.push('task');
    });
    expect(log).toEqual(['task', 'set off', 'publish']);
  });

  it('publishes at once when nothing is under way', () => {
    const { batch, log } = setUp();
    batch.createPublication(0, { publish: () => log.push('publish') }).request();
    expect(log).toEqual(['publish']);
  });

  it('publishes deeper policies first, and a parent once for all of them', () => {
    const { batch, log } = setUp();
    const parent = batch.createPublication(0, { publish: () => log.push('parent') });
    const child = (name: string) =>
      batch.createPublication(1, {
        publish: () => {
          log.push(name);
          parent.request();
        },
      });
    const [a, b] = [child('a'), child('b')];
    batch.run(() => {
      parent.request();
      a.request();
      b.request();
    });
    expect(log).toEqual(['a', 'b', 'parent']);
  });

  it('publishes deeper policies again when a publication changes them', () => {
    const { batch, log } = setUp();
    const deep = batch.createPublication(2, { publish: () => log.push('deep') });
    const top = batch.createPublication(0, {
      publish: () => {
        log.push('top');
        if (log.length === 1) {
          deep.request();
          top.request();
        }
      },
    });
    top.request();
    expect(log).toEqual(['top', 'deep', 'top']);
  });

  it('does not publish what was cancelled', () => {
    const { batch, log } = setUp();
    const publication = batch.createPublication(0, { publish: () => log.push('publish') });
    batch.run(() => {
      publication.request();
      publication.cancel();
    });
    publication.request();
    expect(log).toEqual([]);
  });

  it('continues after an exception', () => {
    const { batch, log } = setUp();
    const publication = batch.createPublication(0, { publish: () => log.push('publish') });
    batch.run(() => {
      publication.request();
      throw new Error('boom');
    });
    expect(log).toEqual(['error Error: boom', 'publish']);
  });
});
