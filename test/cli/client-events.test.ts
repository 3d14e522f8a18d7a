import { formatEvent } from '../../packages/cli/src/output';
import { Snapshot } from '../../src/control-plane';
import { LDS } from '../control-plane/resources';

describe('the line of a client that requests what the file does not have', () => {
  const client = { streamId: 1, nodeId: 'n', peer: '127.0.0.1:1' };
  const lineFor = (names: readonly string[]) =>
    formatEvent(
      { kind: 'subscribed', client, typeUrl: LDS, names, removed: [], wildcard: false },
      Snapshot.empty,
    );

  it('has all names of a few', () => {
    expect(lineFor(['a', 'b'])).toBe(
      'client 1 (n) requests listeners the file does not have: "a", "b"',
    );
    expect(lineFor([])).toBeUndefined();
  });

  it('has five of many, each cut, and the number of the others', () => {
    const line = lineFor(Array.from({ length: 250_000 }, (_, i) => `${i} ${'x'.repeat(1000)}`));
    expect(line).toMatch(/"4 x{254}…", and 249995 more$/);
    expect(line?.length).toBeLessThan(6 * 270);
  });
});
