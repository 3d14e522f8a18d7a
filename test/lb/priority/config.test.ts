import { parsePriorityConfig } from '../../../src/lb/priority/config';
import { parseWith, stubConfig } from '../../support/lb-config-parser';

describe('parsePriorityConfig', () => {
  it('takes the children in the order of the priorities', () => {
    const { config, violations } = parseWith(parsePriorityConfig, {
      children: {
        low: { config: [{ stub: {} }] },
        high: { config: [{ stub: {} }], ignoreReresolutionRequests: true },
        unused: { config: [{ stub: {} }] },
      },
      priorities: ['high', 'low'],
    });
    expect(violations).toEqual([]);
    expect([...(config?.priorities ?? [])]).toEqual([
      ['high', { config: stubConfig, ignoreReresolutionRequests: true }],
      ['low', { config: stubConfig, ignoreReresolutionRequests: false }],
    ]);
  });

  it('takes no priorities at all', () => {
    const { config } = parseWith(parsePriorityConfig, {});
    expect(config?.priorities.size).toBe(0);
  });

  it.each([
    [7, ['must be an object']],
    [{ children: [] }, ['children: must be an object']],
    [{ children: { a: 1 } }, ['children["a"]: must be an object']],
    [{ children: { a: {} } }, ['children["a"].config: must be a list of load-balancing policies']],
    [
      { children: { a: { config: [{ stub: {} }], ignoreReresolutionRequests: 'yes' } } },
      ['children["a"].ignoreReresolutionRequests: must be a boolean'],
    ],
    [{ priorities: 'a' }, ['priorities: must be a list']],
    [
      { children: { a: { config: [{ stub: {} }] } }, priorities: ['a', 'b', 'a', 1] },
      [
        'priorities[1]: names the child "b", which is not given',
        'priorities[2]: names the child "a" again',
        'priorities[3]: must be a string',
      ],
    ],
  ])('refuses %j', (json, expected) => {
    const { config, violations } = parseWith(parsePriorityConfig, json);
    expect(config).toBeUndefined();
    expect(violations).toEqual(expected);
  });
});
