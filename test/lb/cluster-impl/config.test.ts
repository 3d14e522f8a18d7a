import { parseClusterImplConfig } from '../../../src/lb/cluster-impl/config';
import { parseWith, stubConfig } from '../../support/lb-config-parser';

const childPolicy = [{ stub: {} }];

describe('parseClusterImplConfig', () => {
  it('takes everything', () => {
    const { config, violations } = parseWith(parseClusterImplConfig, {
      cluster: 'c',
      edsServiceName: 's',
      maxConcurrentRequests: 7,
      dropCategories: [{ category: 'x', requestsPerMillion: 1000 }, { category: 'y' }],
      childPolicy,
    });
    expect(violations).toEqual([]);
    expect(config?.options).toEqual({
      cluster: 'c',
      edsServiceName: 's',
      maxRequests: 7,
      drops: [
        { category: 'x', perMillion: 1000 },
        { category: 'y', perMillion: 0 },
      ],
      childPolicy: stubConfig,
    });
  });

  it('fills in what is left out', () => {
    const { config } = parseWith(parseClusterImplConfig, { cluster: 'c', childPolicy });
    expect(config?.options).toEqual({
      cluster: 'c',
      edsServiceName: '',
      maxRequests: 1024,
      drops: [],
      childPolicy: stubConfig,
    });
  });

  it.each([
    [[], ['must be an object']],
    [{}, ['cluster: field not present', 'childPolicy: must be a list of load-balancing policies']],
    [
      { cluster: 'c', childPolicy, edsServiceName: 1, maxConcurrentRequests: -1 },
      [
        'edsServiceName: must be a string',
        'maxConcurrentRequests: must be a whole number from 0 to 4294967295',
      ],
    ],
    [
      {
        cluster: 'c',
        childPolicy,
        dropCategories: [1, { requestsPerMillion: 1_000_001 }],
      },
      [
        'dropCategories[0]: must be an object',
        'dropCategories[1].category: field not present',
        'dropCategories[1].requestsPerMillion: must be a whole number from 0 to 1000000',
      ],
    ],
  ])('refuses %j', (json, expected) => {
    const { config, violations } = parseWith(parseClusterImplConfig, json);
    expect(config).toBeUndefined();
    expect(violations).toEqual(expected);
  });
});
