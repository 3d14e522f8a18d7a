import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { Re2Compiler } from '../../src/regex/re2-compiler';
import { createResourceTypes } from '../../src/resources/resource-types';
import type { Json } from '../support/xds-json';
import { extensions, valueOf, versionOf, violationsOf } from './decode-json';

const { routeConfig: type } = createResourceTypes({
  ...extensions,
  regexes: new Re2Compiler({ ...DEFAULT_LIMITS, maxRegexSizePerResource: 100 }),
});

/** A route configuration with a virtual host for each pattern, some 30 in size. */
function routesWith(patterns: readonly string[]): Json {
  const hosts = patterns.map((regex) => ({
    name: regex,
    domains: [regex],
    routes: [{ match: { safe_regex: { regex } }, route: { cluster: 'c' } }],
  }));
  return { name: 'routes', virtual_hosts: hosts };
}

describe('an update of one virtual host', () => {
  it('is rejected if its patterns and those that are kept are too large together', () => {
    const [a, b, c, d] = ['/service-a/', '/service-b/', '/service-c/', '/service-d/'] as const;
    const previous = versionOf(type, routesWith([a, b, c]));
    expect(valueOf(type, routesWith([a, b, d]), { previous }).virtualHosts).toHaveLength(3);
    expect(violationsOf(type, routesWith([a, b, c, d]), { previous })).toEqual([
      'virtual_hosts[3].routes[0].match.safe_regex.regex: the expressions of the resource ' +
        'exceed the limit maxRegexSizePerResource of 100',
    ]);
  });
});
