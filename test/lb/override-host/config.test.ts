import { parseOverrideHostConfig } from '../../../src/lb/override-host/config';
import { parseWith, stubConfig } from '../../support/lb-config-parser';

const childPolicy = [{ stub: {} }];

describe('parseOverrideHostConfig', () => {
  it('takes everything', () => {
    const json = { clusterName: 'c', overrideHostStatus: ['DRAINING', 'HEALTHY'], childPolicy };
    const { config, violations } = parseWith(parseOverrideHostConfig, json);
    expect(violations).toEqual([]);
    expect(config?.options).toEqual({
      cluster: 'c',
      statuses: new Set(['DRAINING', 'HEALTHY']),
      idleTimeoutMs: 3_600_000,
      childPolicy: stubConfig,
    });
  });

  it.each([
    [{ clusterName: 'c', childPolicy }, ['UNKNOWN', 'HEALTHY']],
    [{ clusterName: 'c', childPolicy, overrideHostStatus: [] }, []],
  ])('knows an absent list of states from an empty one: %j', (json, expected) => {
    const { config } = parseWith(parseOverrideHostConfig, json);
    expect([...(config?.options.statuses ?? ['none'])]).toEqual(expected);
  });

  it.each([
    [1, ['must be an object']],
    [
      {},
      ['clusterName: field not present', 'childPolicy: must be a list of load-balancing policies'],
    ],
    [
      { clusterName: 'c', childPolicy, overrideHostStatus: ['HEALTHY', 'UNHEALTHY', 2] },
      [
        'overrideHostStatus[1]: must be UNKNOWN, HEALTHY or DRAINING',
        'overrideHostStatus[2]: must be UNKNOWN, HEALTHY or DRAINING',
      ],
    ],
    [
      { clusterName: 'c', childPolicy: [{ other: {} }], overrideHostStatus: 'HEALTHY' },
      [
        'overrideHostStatus: must be a list',
        'childPolicy: names no supported load-balancing policy, only other',
      ],
    ],
  ])('refuses %j', (json, expected) => {
    const { config, violations } = parseWith(parseOverrideHostConfig, json);
    expect(config).toBeUndefined();
    expect(violations).toEqual(expected);
  });
});
