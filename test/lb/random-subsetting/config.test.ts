import {
  parseRandomSubsettingConfig,
  RandomSubsettingConfig,
} from '../../../src/lb/random-subsetting/config';
import { parseWith, stubConfig } from '../../support/lb-config-parser';

const child = { childPolicy: [{ stub: {} }] };

describe('the config of random_subsetting', () => {
  it.each([
    [{ subsetSize: 1, ...child }, 1],
    [{ subsetSize: '20', ...child }, 20],
    [{ subsetSize: 4_294_967_295, ...child }, 4_294_967_295],
  ])('takes %j', (json, size) => {
    const { config, violations } = parseWith(parseRandomSubsettingConfig, json);
    expect(violations).toEqual([]);
    expect(config).toEqual(new RandomSubsettingConfig(size, stubConfig));
  });

  it.each([
    [[], ['must be an object']],
    [child, ['subsetSize: must be a whole number from 1 to 4294967295']],
    [
      { subsetSize: 0, childPolicy: [] },
      [
        'subsetSize: must be a whole number from 1 to 4294967295',
        'childPolicy: names no load-balancing policy',
      ],
    ],
    [{ subsetSize: 3 }, ['childPolicy: must be a list of load-balancing policies']],
  ])('refuses %j', (json, violations) => {
    expect(parseWith(parseRandomSubsettingConfig, json)).toEqual({ config: undefined, violations });
  });
});
