import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { Re2Compiler } from '../../src/resources/matching/re2-compiler';
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
    const violations = [
      'virtual_hosts[3].routes[0].match.safe_regex.regex: the expressions of the resource ' +
        'exceed the limit maxRegexSizePerResource of 100',
    ];
    // The last one is new, or kept behind a new one.
    expect(violationsOf(type, routesWith([a, b, c, d]), { previous })).toEqual(violations);
    expect(violationsOf(type, routesWith([d, a, b, c]), { previous })).toEqual(violations);
  });

  it('counts the patterns of routes that are left out, like one decoded as a whole', () => {
    const plugin = {
      is_optional: true,
      extension: {
        name: 'p',
        typed_config: { '@type': 'type.googleapis.com/google.protobuf.Struct', value: {} },
      },
    };
    const host = (regex: string): Json => ({
      name: regex,
      domains: [regex],
      routes: [{ match: { safe_regex: { regex } }, route: { cluster_specifier_plugin: 'p' } }],
    });
    const config = (...patterns: readonly string[]): Json => ({
      name: 'routes',
      virtual_hosts: patterns.map(host),
      cluster_specifier_plugins: [plugin],
    });
    const previous = versionOf(type, config('/service-a/', '/service-b/', '/service-c/'));
    const more = config('/service-a/', '/service-b/', '/service-c/', '/service-d/');
    expect(violationsOf(type, more, { previous })).toEqual(violationsOf(type, more));
  });
});
