import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_LIMITS, resolveLimits } from '../../src/bootstrap/limits';

describe('limits', () => {
  it('default to DEFAULT_LIMITS', () => {
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

  it.each([null, 5, 'many', []])('refuse %p in place of an object', (limits) => {
    const expected = new TypeError('grpc-xds: limits must be an object');
    expect(() => resolveLimits(limits as object)).toThrow(expected);
  });

  it('reject an unknown name', () => {
    const misspelt = { maxMesageBytes: 1 } as object;
    expect(() => resolveLimits(misspelt)).toThrow(
      /unknown limit "maxMesageBytes"; the limits are maxMessageBytes/,
    );
  });

  it('are in docs/limits.md, each with its default', () => {
    const page = readFileSync(join(__dirname, '../../docs/limits.md'), 'utf8');
    const documented = [...page.matchAll(/^\| `(max\w+)` *\| ([\d,]+)/gm)].map(
      ([, name = '', value = '']) => [name, Number(value.replaceAll(',', ''))] as const,
    );
    expect(Object.fromEntries(documented)).toEqual(DEFAULT_LIMITS);
  });
});
