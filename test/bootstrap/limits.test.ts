import { DEFAULT_LIMITS, resolveLimits } from '../../src/bootstrap/limits';

describe('limits', () => {
  it('are the defaults where the application sets none', () => {
    expect(resolveLimits()).toEqual(DEFAULT_LIMITS);
    expect(resolveLimits({ maxMessageBytes: 5 })).toEqual({
      ...DEFAULT_LIMITS,
      maxMessageBytes: 5,
    });
  });

  it.each([0, -1, 1.5, NaN, Infinity])('refuse %p', (maxMessageBytes) => {
    expect(() => resolveLimits({ maxMessageBytes })).toThrow(
      `grpc-xds: limit maxMessageBytes must be a positive whole number, not ${maxMessageBytes}`,
    );
  });

  it('refuse a name that is not one of theirs', () => {
    const misspelt = { maxMesageBytes: 1 } as object;
    expect(() => resolveLimits(misspelt)).toThrow(
      /unknown limit "maxMesageBytes"; the limits are maxMessageBytes/,
    );
  });
});
