import { toIso, withSince } from '../../src/util/since';

describe('since when a failure lasts', () => {
  it('is a time in UTC at the end of the text, so that the text stays the same while the failure lasts', () => {
    expect(withSince('no', 1_700_000_000_123)).toBe(
      `no (failing since ${toIso(1_700_000_000_123)})`,
    );
    expect(toIso(1_700_000_000_123)).toBe('2023-11-14T22:13:20.123Z');
  });
});
