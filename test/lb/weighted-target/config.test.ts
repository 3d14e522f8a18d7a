import { LbPolicyRegistry } from '../../../src/lb/registry/lb-policy-registry';
import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { RoundRobinConfig } from '../../../src/lb/round-robin/config';
import { parseWeightedTargetConfig } from '../../../src/lb/weighted-target/config';
import { Violations } from '../../../src/util/violations';

const registry = new LbPolicyRegistry({ policies: [roundRobinPolicy], converters: [] });
const childPolicy = [{ round_robin: {} }];

function parse(text: string) {
  const violations = Violations.root();
  const config = parseWeightedTargetConfig(JSON.parse(text), violations, registry);
  return { config, violations: violations.all };
}

describe('parseWeightedTargetConfig', () => {
  it('reads targets of any name', () => {
    const target = JSON.stringify({ weight: 4294967295, childPolicy });
    const { config } = parse(`{ "targets": { "a": ${target}, "__proto__": ${target} } }`);
    expect(config?.targets).toEqual(
      new Map([
        ['a', { weight: 4294967295, childPolicy: new RoundRobinConfig() }],
        ['__proto__', { weight: 4294967295, childPolicy: new RoundRobinConfig() }],
      ]),
    );
  });

  it('may have no targets', () => {
    expect(parse('{}').config?.targets.size).toBe(0);
  });

  it.each([
    ['[]', ['must be an object']],
    ['{ "targets": [] }', ['targets: must be an object']],
    ['{ "targets": { "a": 1 } }', ['targets["a"]: must be an object']],
    [
      '{ "targets": { "a": { "weight": 0 }, "b": { "weight": 4294967296 } } }',
      [
        'targets["a"].weight: must be a whole number from 1 to 4294967295',
        'targets["a"].childPolicy: must be a list of load-balancing policies',
        'targets["b"].weight: must be a whole number from 1 to 4294967295',
        'targets["b"].childPolicy: must be a list of load-balancing policies',
      ],
    ],
  ])('refuses %s', (text, violations) => {
    expect(parse(text)).toEqual({ config: undefined, violations });
  });
});
