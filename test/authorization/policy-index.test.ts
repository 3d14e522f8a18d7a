import { AuthorizationEngine, type Decision } from '../../src/authorization/authorization-engine';
import type { AuthorizationRequest } from '../../src/authorization/request';
import {
  RbacConfig,
  sortPolicies,
  type AuthorizationRules,
  type Policy,
} from '../../src/authorization/rules';
import { silentLogger } from '../../src/util/logger';
import { AuthorizationSamples } from '../support/authorization-samples';
import { seededRandom } from '../support/seeded-random';
import { createRbacWorld, meter, requestOf } from './rbac-world';

const world = createRbacWorld();

function rulesOf(json: object): AuthorizationRules | undefined {
  const config = world.parse({ rules: json });
  return config instanceof RbacConfig ? config.rules : undefined;
}

const engineOf = (rules: AuthorizationRules) =>
  new AuthorizationEngine({ name: 'rbac', meter, logger: silentLogger, rules });

/** Decides by engines of one policy each, which have no index: the first that matches decides. */
function decideOneByOne(rules: AuthorizationRules, request: AuthorizationRequest): Decision {
  for (const policy of rules.policies) {
    const decision = engineOf({ ...rules, policies: [policy] }).decide(request);
    if (decision.policy !== undefined) return decision;
  }
  return engineOf({ ...rules, policies: [] }).decide(request);
}

it('decides as each policy alone does, by the first one that matches', () => {
  const samples = new AuthorizationSamples(seededRandom(41));
  const audit = { loggers: [], onAllow: false, onDeny: false };
  const probes = Array.from({ length: 20 }, () => requestOf(samples.request()));
  // Those that match most requests would leave none to the policies after them.
  const isSelective = (policy: Policy) => {
    const engine = engineOf({ action: 'allow', policies: [policy], audit });
    return probes.filter((probe) => engine.decide(probe).isAllowed).length < 4;
  };
  const known: Policy[] = [];
  while (known.length < 600) {
    for (const policy of rulesOf(samples.rules())?.policies ?? []) {
      if (isSelective(policy)) known.push({ ...policy, name: `policy-${known.length}` });
    }
  }
  const random = seededRandom(42);
  const outcomes = { matched: 0, unmatched: 0 };
  for (let i = 0; i < 150; i++) {
    const count = 5 + Math.floor(random() * 20);
    const drawn = Array.from(
      { length: count },
      () => known[Math.floor(random() * known.length)] as Policy,
    );
    const policies = sortPolicies([...new Set(drawn)]);
    const rules: AuthorizationRules = { action: i % 2 === 0 ? 'allow' : 'deny', policies, audit };
    const engine = engineOf(rules);
    for (let j = 0; j < 10; j++) {
      const request = requestOf(samples.request());
      const decision = engine.decide(request);
      expect(decision).toEqual(decideOneByOne(rules, request));
      outcomes[decision.policy === undefined ? 'unmatched' : 'matched']++;
    }
  }
  expect(outcomes.matched).toBeGreaterThan(300);
  expect(outcomes.unmatched).toBeGreaterThan(200);
});

describe('policies of other paths and peers', () => {
  const any = [{ any: true }];
  const path = (text: string, kind = 'exact') => ({ url_path: { path: { [kind]: text } } });
  const peer = (exact: string) => ({ authenticated: { principal_name: { exact } } });
  const spiffe = (i: number) => `spiffe://mesh/ns/${i}/sa/web`;
  const request = (requestPath: string, uri?: string): AuthorizationRequest =>
    requestOf({
      path: requestPath,
      headers: {},
      local: { address: '10.0.0.1', port: 80 },
      remote: { address: '10.0.0.2', port: 4000 },
      tls: uri === undefined ? undefined : { peer: { uriSans: [uri], dnsSans: [], subject: '' } },
    });
  const numbered = (of: (i: number) => object) =>
    Object.fromEntries(
      Array.from({ length: 2000 }, (_, i) => [`p${String(i).padStart(4, '0')}`, of(i)]),
    );
  /** Counts the steps of a decision. */
  function stepsOf(json: object, decided: AuthorizationRequest): number {
    const rules = rulesOf(json);
    if (rules === undefined) throw new Error('the rules are rejected');
    const engine = engineOf(rules);
    const spent = jest.spyOn(meter, 'spendText');
    expect(engine.decide(decided).policy).toBe('p1999');
    const { length } = spent.mock.calls;
    spent.mockRestore();
    return length;
  }

  it.each([
    ['exact paths', (i: number) => ({ permissions: [path(`/s${i}/m`)], principals: any })],
    ['prefixes', (i: number) => ({ permissions: [path(`/s${i}/`, 'prefix')], principals: any })],
    [
      'paths in lists of and, and of or',
      (i: number) => ({
        permissions: [
          {
            and_rules: {
              rules: [{ any: true }, { or_rules: { rules: [path(`/s${i}/m`), path(`/t${i}`)] } }],
            },
          },
        ],
        principals: any,
      }),
    ],
    ['names', (i: number) => ({ permissions: any, principals: [peer(spiffe(i))] })],
  ])('are not tried, by %s', (_name, of) => {
    const steps = stepsOf({ policies: numbered(of) }, request('/s1999/m', spiffe(1999)));
    expect(steps).toBeLessThan(10);
  });

  it('are tried all the same below a negation', () => {
    const rules = rulesOf({
      action: 'DENY',
      policies: {
        ...numbered((i) => ({ permissions: [path(`/s${i}/m`)], principals: any })),
        'not-by-web': {
          permissions: [{ not_rule: path('/open') }],
          principals: [{ not_id: peer(spiffe(0)) }],
        },
      },
    });
    const engine = engineOf(rules as AuthorizationRules);
    expect(engine.decide(request('/other', spiffe(1)))).toEqual({
      isAllowed: false,
      policy: 'not-by-web',
    });
    expect(engine.decide(request('/other', spiffe(0))).isAllowed).toBe(true);
    expect(engine.decide(request('/open')).isAllowed).toBe(true);
    expect(engine.decide(request('/s7/m', spiffe(0))).policy).toBe('p0007');
  });
});
