import { CdsConfig, parseCdsConfig } from '../../../src/lb/cds/config';
import { parseWith } from '../../support/lb-config-parser';

describe('parseCdsConfig', () => {
  it.each([
    [{ cluster: 'a' }, new CdsConfig('a', false)],
    [{ cluster: 'a', isDynamic: true }, new CdsConfig('a', true)],
  ])('takes %j', (json, expected) => {
    const { config, violations } = parseWith(parseCdsConfig, json);
    expect(violations).toEqual([]);
    expect(config).toEqual(expected);
  });

  it.each([
    ['a', ['must be an object']],
    [{}, ['cluster: field not present']],
    [{ cluster: '', isDynamic: 1 }, ['cluster: must not be empty', 'isDynamic: must be a boolean']],
  ])('refuses %j', (json, expected) => {
    const { config, violations } = parseWith(parseCdsConfig, json);
    expect(config).toBeUndefined();
    expect(violations).toEqual(expected);
  });
});
