import { toIso, withSince } from '../../src/util/since';

describe('since when a failure lasts', () => {
  it('is a time in UTC at the end of the text, so that the text stays the same while the failure lasts', () => {
    expect(withSince('no', 1_700_000_000_123)).toBe(
      `no (failing since ${toIso(1_700_000_000_123)})`,
    );
    expect(toIso(1_700_000_000_123)).toBe('2023-11-14T22:13:20.123Z');
  });

  it('is not added to a text that has it', () => {
    const text = withSince('no', 1000);
    expect(withSince(text, 2000)).toBe(text);
    expect(withSince(`${text}; next attempt in 1.0 s`, 2000)).toBe(
      `${text}; next attempt in 1.0 s`,
    );
  });
});
