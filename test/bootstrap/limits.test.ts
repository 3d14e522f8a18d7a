import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_LIMITS, resolveLimits } from '../../src/bootstrap/limits';
import { checkRegisterOptions } from '../../src/runtime/register-options';

describe('limits', () => {
  it('default to DEFAULT_LIMITS', () => {
    expect(resolveLimits()).toEqual(DEFAULT_LIMITS);
    expect(resolveLimits({ maxMessageBytes: 5 })).toEqual({
      ...DEFAULT_LIMITS,
      maxMessageBytes: 5,
    });
  });

  it.each([0, -1, 1.5, NaN, Infinity])('refuse %p', (maxMessageBytes) => {
    expect(() => checkRegisterOptions({ limits: { maxMessageBytes } })).toThrow(
      `grpc-xds: limits.maxMessageBytes of register() must be a positive whole number, not ${maxMessageBytes}`,
    );
  });

  it.each([null, 5, 'many', []])('refuse %p in place of an object', (limits) => {
    expect(() => checkRegisterOptions({ limits } as object)).toThrow(
      /^grpc-xds: limits of register\(\) must be an object, not /,
    );
  });

  it('reject an unknown name', () => {
    const limits = { maxMesageBytes: 1 } as object;
    expect(() => checkRegisterOptions({ limits })).toThrow(
      /unknown option "limits\.maxMesageBytes" of register\(\) \(did you mean "maxMessageBytes"\?\); the options are maxMessageBytes, /,
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
