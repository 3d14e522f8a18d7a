import { parseClusterManagerConfig } from '../../../src/lb/cluster-manager/config';
import { parseWith, stubConfig } from '../../support/lb-config-parser';

describe('parseClusterManagerConfig', () => {
  it('takes the children', () => {
    const { config, violations } = parseWith(parseClusterManagerConfig, {
      children: { 'cluster:a': { childPolicy: [{ other: {} }, { stub: {} }] } },
    });
    expect(violations).toEqual([]);
    expect([...(config?.children ?? [])]).toEqual([['cluster:a', stubConfig]]);
  });

  it('takes no children at all', () => {
    expect(parseWith(parseClusterManagerConfig, {}).config?.children.size).toBe(0);
  });

  it.each([
    [null, ['must be an object']],
    [{ children: 'a' }, ['children: must be an object']],
    [
      { children: { a: [], b: { childPolicy: [] } } },
      [
        'children["a"]: must be an object',
        'children["b"].childPolicy: names no load-balancing policy',
      ],
    ],
  ])('refuses %j', (json, expected) => {
    const { config, violations } = parseWith(parseClusterManagerConfig, json);
    expect(config).toBeUndefined();
    expect(violations).toEqual(expected);
  });
});
