import type {
  RouteConfigResource,
  VirtualHost,
} from '../../src/resources/route-config/route-config';
import { seededRandom } from '../support/seeded-random';
import type { Json } from '../support/xds-json';
import {
  decodeBytes,
  encode,
  serverWith,
  types,
  valueOf,
  versionOf,
  violationsOf,
} from './decode-json';

const type = types.routeConfig;

const host = (name: string, cluster = name): Json => ({
  name,
  domains: [`${name}.test`],
  routes: [{ match: { prefix: '' }, route: { cluster, auto_host_rewrite: true } }],
});

const config = (hosts: readonly Json[], extra: Json = {}): Json => ({
  name: 'r',
  virtual_hosts: hosts,
  ...extra,
});

const plugin = (name: string): Json => ({
  is_optional: true,
  extension: {
    name,
    typed_config: { '@type': 'type.googleapis.com/google.protobuf.Struct', value: {} },
  },
});

/** Which of the virtual hosts are the very objects of another version. */
function shared(next: RouteConfigResource, previous: RouteConfigResource): readonly string[] {
  const before = new Set<VirtualHost>(previous.virtualHosts);
  return next.virtualHosts.filter((each) => before.has(each)).map(({ name }) => name);
}

describe('a route configuration that changes a little', () => {
  const hosts = ['a', 'b', 'c', 'd'].map((name) => host(name));
  const [a = {}, b = {}, c = {}, d = {}] = hosts;
  const previous = versionOf(type, config(hosts));

  it.each<[string, readonly Json[], number]>([
    ['changed', [a, host('b', 'other'), c, d], 3],
    ['added', [a, b, host('new'), c, d], 4],
    ['taken away', [a, c, d], 3],
    ['moved', [b, a, c, d], 3],
  ])('keeps the others when one virtual host is %s', (_what, next, kept) => {
    const after = versionOf(type, config(next), { previous });
    expect(after.value).toEqual(valueOf(type, config(next)));
    expect(shared(after.value, previous.value)).toHaveLength(kept);
    expect(type.describeChange(previous.value, after.value)).toBe('virtual hosts: 1 changed');
    // And back again, on top of that one.
    const again = valueOf(type, config(hosts), { previous: after });
    expect(again).toEqual(previous.value);
    expect(shared(again, after.value)).toHaveLength(kept);
  });

  it('keeps nothing that depends on what changed besides: plugins, and trust in the server', () => {
    const withPlugin = config(hosts, { cluster_specifier_plugins: [plugin('p')] });
    const plugged = versionOf(type, withPlugin, { previous });
    expect(shared(plugged.value, previous.value)).toEqual([]);
    expect(type.describeChange(previous.value, plugged.value)).toBe('');

    const server = serverWith('trusted_xds_server');
    const trusted = valueOf(type, config([a, b, c]), { previous, server });
    expect(trusted).toEqual(valueOf(type, config([a, b, c]), { server }));
    expect(shared(trusted, previous.value)).toEqual([]);
  });

  it('says what is wrong with all of it, as if there had been no previous version', () => {
    const bad = config([a, { ...b, domains: [] }, host('c', ''), d]);
    expect(violationsOf(type, bad, { previous })).toEqual(violationsOf(type, bad));
    const noPlugin = { match: { prefix: '' }, route: { cluster_specifier_plugin: 'p' } };
    const lost = config([a, { ...b, routes: [noPlugin] }, c, d]);
    expect(violationsOf(type, lost, { previous })).toEqual(violationsOf(type, lost));
  });

  it('has the value of one decoded as a whole, and keeps what it can', () => {
    const random = seededRandom(3);
    const below = (limit: number) => Math.floor(random() * limit);
    const names = Array.from({ length: 30 }, (_, i) => `host-${i}`);
    let present = names.slice(0, 20).map((name) => host(name));
    let version = versionOf(type, config(present));
    let keptInAll = 0;
    for (let step = 0; step < 300; step++) {
      const at = below(present.length + 1);
      const replaced = below(3);
      // Now and then one that is not valid: a cluster without a name.
      const added = below(2) === 0 ? [host(names[below(30)] ?? '', below(20) ? 'x' : '')] : [];
      const next = [...present.slice(0, at), ...added, ...present.slice(at + replaced)];
      const bytes = encode(type, config(next));
      const { result } = decodeBytes(type, bytes, { previous: version });
      const { result: whole } = decodeBytes(type, bytes);
      expect(result.ok ? result.value : result).toEqual(whole.ok ? whole.value : whole);
      if (!result.ok) continue;
      keptInAll += shared(result.value, version.value).length;
      [present, version] = [next, result];
      if (present.length < 5) {
        present = names.map((name) => host(name));
        version = versionOf(type, config(present));
      }
    }
    expect(keptInAll).toBeGreaterThan(1000);
  });
});
