import { mergeResources, type ResourceSnapshot } from '../../src/xds-client/client-snapshot';

function accepted(name: string, version: string, updatedAtMs: number): ResourceSnapshot {
  return {
    typeUrl: 'type.googleapis.com/test.Thing',
    name,
    status: 'ACKED',
    accepted: { version, bytes: Buffer.from(version), updatedAtMs },
    failure: undefined,
    watchers: 1,
    waitingSinceMs: undefined,
  };
}

const clientWith = (...resources: ResourceSnapshot[]) => ({ resources: () => resources });
const missing = (name: string): ResourceSnapshot => ({
  ...accepted(name, '', 0),
  status: 'REQUESTED',
  accepted: undefined,
});

describe('the merged resources of clients', () => {
  it('contain those of every client, each once', () => {
    const [a, b, c] = [accepted('a', '1', 1), accepted('b', '1', 1), accepted('c', '1', 1)];
    const resources = mergeResources([clientWith(a, b), clientWith(b, c), clientWith()]);
    expect(resources).toEqual([a, b, c]);
  });

  it.each([
    ['the value accepted last', accepted('a', 'old', 1), accepted('a', 'new', 2)],
    ['a value rather than none', missing('a'), accepted('a', 'new', 2)],
  ])('contain %s', (_, worse, better) => {
    for (const clients of [
      [clientWith(worse), clientWith(better)],
      [clientWith(better), clientWith(worse)],
    ]) {
      expect(mergeResources(clients)).toEqual([better]);
    }
  });
});
