import { LbPolicyRegistry } from '../../../src/lb/registry/lb-policy-registry';
import type { LbPolicyType } from '../../../src/lb/lb-policy';
import { Violations } from '../../../src/util/violations';
import { StubPolicyType } from '../../support/lb-stub-policy';

const a = new StubPolicyType('a');
const b = new StubPolicyType('b');
const picky: LbPolicyType = {
  name: 'picky',
  parseConfig(_json, violations) {
    violations.at('field').add('is wrong');
    return undefined;
  },
  create: (host) => a.create(host),
};

function parse(json: unknown) {
  const registry = new LbPolicyRegistry({ policies: [a, b, picky] });
  const violations = Violations.root();
  const config = registry.fromJson(json, violations);
  return { policyName: config?.policyName, violations: violations.all };
}

describe('LbPolicyRegistry', () => {
  it.each([
    [[{ a: {} }], 'a'],
    [[{ unknown: {} }, { b: {} }, { a: {} }], 'b'],
    [[{ constructor: {} }, { a: {} }], 'a'],
    [[{ a: {} }, { picky: {} }], 'a'],
  ])('takes the first supported policy of %j', (json, policyName) => {
    expect(parse(json)).toEqual({ policyName, violations: [] });
  });

  it.each([
    [undefined, 'must be a list of load-balancing policies'],
    [{ a: {} }, 'must be a list of load-balancing policies'],
    [[], 'names no load-balancing policy'],
    [['a'], '[0]: must be an object'],
    [[{}], '[0]: must have one field, the name of a load-balancing policy'],
    [[{ a: {}, b: {} }], '[0]: must have one field, the name of a load-balancing policy'],
    [[{ x: {} }, { y: {} }], 'names no supported load-balancing policy, only x, y'],
    [[{ x: {} }, { picky: {} }, { a: {} }], '[1].picky.field: is wrong'],
  ])('refuses %j', (json, violation) => {
    expect(parse(json)).toEqual({ policyName: undefined, violations: [violation] });
  });

  it('finds policies by name, later ones first', () => {
    const registry = new LbPolicyRegistry({ policies: [a] });
    const newer = new StubPolicyType('a');
    registry.register(newer);
    expect(registry.get('a')).toBe(newer);
    expect(registry.get('toString')).toBeUndefined();
    expect([...registry.registered()]).toEqual([newer]);
  });

  it('looks up unregistered policies in the fallback', () => {
    const fallback = new Map([
      ['a', b],
      ['b', b],
    ]);
    const registry = new LbPolicyRegistry({ policies: [a], fallback });
    expect(registry.get('a')).toBe(a);
    expect(registry.get('b')).toBe(b);
    expect([...registry.registered()]).toEqual([a]);
  });
});
