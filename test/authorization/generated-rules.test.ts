import { AuthorizationEngine } from '../../src/authorization/authorization-engine';
import { RbacConfig } from '../../src/authorization/rules';
import { silentLogger } from '../../src/util/logger';
import { AuthorizationSamples, unsupportedRules } from '../support/authorization-samples';
import { judge } from '../support/reference-authorization';
import { seededRandom } from '../support/seeded-random';
import { createRbacWorld, meter, requestOf } from './rbac-world';

const POLICIES = 2000;
const REQUESTS = 10;

it('judges 2,000 generated policies as a second evaluator does, which reads their JSON', () => {
  const samples = new AuthorizationSamples(seededRandom(29));
  const directed = unsupportedRules();
  const world = createRbacWorld();
  const counts = { allow: 0, deny: 0, rejected: 0 };
  for (let i = 0; i < POLICIES; i++) {
    const rules = directed[i] ?? samples.rules();
    const config = world.parse({ rules: rules });
    const parsed = config instanceof RbacConfig ? config.rules : undefined;
    const options = { name: 'rbac', meter, logger: silentLogger };
    const engine = parsed && new AuthorizationEngine({ ...options, rules: parsed });
    for (let j = 0; j < REQUESTS; j++) {
      const request = samples.request();
      const expected = judge(rules, request);
      counts[expected]++;
      const decision = engine?.decide(requestOf(request)) ?? { isAllowed: true };
      const own = !(config instanceof RbacConfig)
        ? 'rejected'
        : decision.isAllowed
          ? 'allow'
          : 'deny';
      if (own !== expected) {
        throw new Error(`${own}, not ${expected}: ${JSON.stringify({ rules, request, config })}`);
      }
    }
  }
  // Each outcome is frequent, or this would not say much.
  expect(counts.allow).toBeGreaterThan(3000);
  expect(counts.deny).toBeGreaterThan(3000);
  expect(counts.rejected).toBeGreaterThan(500);
});
