import { conditionsOf } from '../../../packages/kubernetes/src/routes/conditions';
import { routesOfService } from '../../../packages/kubernetes/src/routes/service-routes';
import { valueOf, types } from '../../resources/decode-json';
import type { Json } from '../../support/kubernetes-manifests';
import { seededRandom } from '../../support/seeded-random';
import { routeConfigJson } from '../../support/xds-json';
import { clusterOf } from './cluster';
import { grpcRoute, parent } from './manifests';
import { SERVICES } from './routing-cases';

/** Texts that a field of any meaning may have, right ones among them. */
const TEXTS = [
  '',
  'a',
  'b',
  'd',
  'front',
  'missing',
  'shop',
  'other',
  'Service',
  'Exact',
  'RegularExpression',
  'RegularExpression',
  'ExtensionRef',
  'RequestMirror',
  'test.Echo',
  'Say',
  '^test\\..*$',
  '(?i)^x$',
  'a|b',
  '(',
  'a)(b',
  '[$^]',
  '\\Q^$\\E',
  'x{2000}',
  'a{1,900}',
  '^*',
  '/',
  'a/b',
  'x-bin',
  'Version',
  'user-agent',
  '__proto__',
  'x'.repeat(3000),
  'é\u0000\n"',
  '\ud800',
  '\\C',
  '(?<n>a)',
  '\\pL',
  '(?m)^a',
  'a$|b',
  '\\',
  '[[:alpha:]]',
  '\\z',
];
const VALUES: readonly unknown[] = [
  ...TEXTS,
  null,
  0,
  1,
  80,
  81,
  -1,
  0.5,
  1_000_000,
  1_000_001,
  '80',
  true,
  [],
  {},
  [[]],
  [null],
];

/** Makes specifications of routes at random, about half of whose fields are as the API has them. */
class RandomSpecs {
  constructor(private readonly random: () => number) {}

  spec(): Json {
    return this.object({
      parentRefs: () => [parent(), ...this.list(() => this.parent())],
      rules: () => this.list(() => this.rule()),
      hostnames: () => this.any(),
    });
  }

  private parent(): unknown {
    return this.object({
      group: () => '',
      kind: () => 'Service',
      name: () => 'front',
      ...(this.random() < 0.2 ? { port: () => this.any(), sectionName: () => this.any() } : {}),
    });
  }

  private rule(): unknown {
    return this.object({
      name: () => this.pick(['x', 'y', 0]),
      matches: () => this.list(() => this.match()),
      backendRefs: () => this.list(() => this.backend()),
      ...(this.random() < 0.1 ? { filters: () => this.list(() => this.filter()) } : {}),
    });
  }

  private match(): unknown {
    const type = () => this.pick(['Exact', 'RegularExpression']);
    return this.object({
      method: () => this.object({ type, service: () => this.text(), method: () => this.text() }),
      headers: () =>
        this.list(() => this.object({ type, name: () => this.text(), value: () => this.text() })),
    });
  }

  private backend(): unknown {
    return this.object({
      name: () => this.pick(['a', 'b', 'front', 'd', 'missing']),
      port: () => this.pick([80, 80, 81]),
      weight: () => this.pick([0, 1, 2, 1_000_000]),
      ...(this.random() < 0.1 ? { namespace: () => this.any(), kind: () => this.any() } : {}),
      ...(this.random() < 0.1 ? { filters: () => this.list(() => this.filter()) } : {}),
    });
  }

  private filter(): unknown {
    return this.object({ type: () => this.text(), extensionRef: () => this.any() });
  }

  private object(fields: Readonly<Record<string, () => unknown>>): Json {
    const entries = Object.entries(fields).flatMap(([name, make]): [string, unknown][] => {
      const drawn = this.random();
      if (drawn < 0.07) return [];
      return [[name, drawn < 0.1 ? this.any() : make()]];
    });
    return Object.fromEntries(entries);
  }

  private list(make: () => unknown): readonly unknown[] {
    return Array.from({ length: Math.floor(this.random() * 4) }, make);
  }

  private text(): string {
    return this.pick(this.random() < 0.6 ? ['test.Echo', 'Say', 'x'] : TEXTS);
  }

  private any(): unknown {
    return this.pick(VALUES);
  }

  private pick<T>(values: readonly T[]): T {
    const value = values[Math.floor(this.random() * values.length)];
    if (value === undefined) throw new Error('nothing to pick');
    return value;
  }
}

describe('routes made of GRPCRoutes at random', () => {
  const ROUNDS = 150;

  it.each([1, 2])('are valid for clients, in any order of arrival (seed %d)', (seed) => {
    const random = seededRandom(seed);
    const specs = new RandomSpecs(random);
    let [valid, accepted, statuses] = [0, 0, 0];
    for (let i = 0; i < ROUNDS; i++) {
      const manifests = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, number) => {
        const namespace = random() < 0.2 ? 'other' : 'shop';
        const createdS = Math.floor(random() * 2);
        return { ...grpcRoute(`r${number}`, [], { namespace, createdS }), spec: specs.spec() };
      });
      const [cluster, reversed] = [manifests, [...manifests].reverse()].map((each) =>
        clusterOf([...SERVICES, ...each]),
      );
      const made = [cluster, reversed].map((objects) => {
        const front = objects?.services.get('shop/front');
        const [port] = front?.ports ?? [];
        if (objects === undefined || front === undefined || port === undefined) return undefined;
        for (const route of objects.routes.values()) {
          for (const { conditions } of conditionsOf(objects, route)) {
            statuses++;
            accepted += conditions.some(({ reason }) => reason === 'Accepted') ? 1 : 0;
            for (const { message } of conditions) expect(message.length).toBeLessThan(32_768);
          }
        }
        return routesOfService(objects, front, port, 'other');
      });
      expect(JSON.stringify(made[1]?.routes)).toBe(JSON.stringify(made[0]?.routes));
      const routes = made[0]?.routes;
      if (routes === undefined) continue;
      valid++;
      const copies = routes.map((route) => ({ ...route }));
      expect(() => valueOf(types.routeConfig, routeConfigJson('r', copies))).not.toThrow();
    }
    expect(valid).toBeGreaterThan(ROUNDS / 10);
    expect(accepted / statuses).toBeGreaterThan(0.03);
  });
});
