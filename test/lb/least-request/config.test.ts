import { LeastRequestConfig, parseLeastRequestConfig } from '../../../src/lb/least-request/config';
import type { Violations } from '../../../src/util/violations';
import { parseWith } from '../../support/lb-config-parser';

const parseConfig = (json: unknown, violations: Violations) =>
  parseLeastRequestConfig(json, violations);

describe('the config of least_request', () => {
  it.each([
    [{}, 2],
    [{ choiceCount: null }, 2],
    [{ choiceCount: 2 }, 2],
    [{ choiceCount: '7' }, 7],
    [{ choiceCount: 10 }, 10],
    [{ choiceCount: 11 }, 10],
    [{ choiceCount: 4_294_967_295 }, 10],
  ])('takes %j', (json, choiceCount) => {
    const { config, violations } = parseWith(parseConfig, json);
    expect(violations).toEqual([]);
    expect(config).toBeInstanceOf(LeastRequestConfig);
    expect(config?.choiceCount).toBe(choiceCount);
  });

  it.each([
    [7, 'must be an object'],
    [{ choiceCount: 1 }, 'choiceCount: must be a whole number from 2 to 4294967295'],
    [{ choiceCount: 0 }, 'choiceCount: must be a whole number from 2 to 4294967295'],
    [{ choiceCount: 2.5 }, 'choiceCount: must be a whole number from 2 to 4294967295'],
    [{ choiceCount: 'two' }, 'choiceCount: must be a whole number from 2 to 4294967295'],
  ])('refuses %j', (json, violation) => {
    expect(parseWith(parseConfig, json)).toEqual({
      config: undefined,
      violations: [violation],
    });
  });
});
