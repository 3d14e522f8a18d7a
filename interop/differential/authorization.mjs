// Generated policies and requests, judged by the RBAC filter of this package, by a second evaluator that reads JSON, and by the
// filter of grpc-go. Where grpc-go differs, the second evaluator judges by the rules of grpc-go too, and must agree with it.
import { createRequire } from 'node:module';

const REQUESTS = 10;

/** Policies between two reports of progress. */
const PART = 100_000;

/** Cases that are printed of those in which judges disagree. */
const SHOWN = 5;

/** The generator and the evaluators are TypeScript, as all tests are. */
const load = () => {
  const require = createRequire(import.meta.url);
  require('../../test/support/run-typescript.cjs');
  return {
    ...require('../../test/support/authorization-samples'),
    ...require('../../test/support/own-authorization'),
    ...require('../../test/support/policy-samples'),
    ...require('../../test/support/reference-authorization'),
    ...require('../../test/support/reference-policy'),
    ...require('../../test/support/seeded-random'),
  };
};

/** What grpc-go says of the request with this index. */
const verdictOf = ({ allowed }, index) => {
  if (allowed === undefined) return 'rejected';
  return allowed[index] ? 'allow' : 'deny';
};

const demandNone = (failures) => {
  if (failures.length === 0) return;
  const shown = failures.slice(0, SHOWN).map((failure) => JSON.stringify(failure));
  throw new Error(`${failures.length} are not:\n${shown.join('\n')}`);
};

/** Counts what the judges say of policies and requests. */
class Comparison {
  cases = { allow: 0, deny: 0, rejected: 0 };
  /** By difference: cases in which grpc-go would say something else without it. */
  byRule = new Map();
  different = 0;
  failures = [];

  constructor(judges) {
    Object.assign(this, judges);
    this.all = new Set(judges.GO_DIFFERENCES);
    // For each difference, all of the others.
    this.without = judges.GO_DIFFERENCES.map((difference) => [
      difference,
      new Set(judges.GO_DIFFERENCES.filter((other) => other !== difference)),
    ]);
    for (const difference of judges.GO_DIFFERENCES) this.byRule.set(difference, 0);
  }

  /** @param go What grpc-go answers. */
  add(rules, requests, own, go) {
    for (const [i, request] of requests.entries()) {
      const expected = this.judge(rules, request);
      const goExpected = this.judge(rules, request, this.all);
      const goVerdict = verdictOf(go, i);
      const ownVerdict = own?.(request) ?? 'rejected';
      this.cases[expected]++;
      if (ownVerdict !== expected || goVerdict !== goExpected) {
        const verdicts = { own: ownVerdict, expected, go: goVerdict, goExpected };
        this.failures.push({ ...verdicts, error: go.rejected, rules, request });
      }
      if (goExpected === expected) continue;
      this.different++;
      this.#count(rules, request, goExpected);
    }
  }

  #count(rules, request, goExpected) {
    for (const [difference, others] of this.without) {
      if (this.judge(rules, request, others) === goExpected) continue;
      this.byRule.set(difference, this.byRule.get(difference) + 1);
    }
  }
}

const print = ({ cases, different, byRule }, policies) => {
  const total = cases.allow + cases.deny + cases.rejected;
  console.log(
    `    ${policies} policies, ${total} decisions (${cases.allow} allow, ${cases.deny} deny, ${cases.rejected} rejected): ` +
      `all agree on ${total - different}, grpc-go differs by a rule on ${different}:`,
  );
  for (const [rule, count] of byRule) console.log(`${String(count).padStart(12)}  ${rule}`);
};

const run = async ({ peers, step, policies, seed }) => {
  const judges = load();
  const samples = new judges.AuthorizationSamples(judges.seededRandom(seed));
  const read = judges.createOwnAuthorization();
  const comparison = new Comparison(judges);
  const go = await peers.authorization();
  try {
    const directed = judges.unsupportedRules();
    for (let i = 1; i <= policies; i++) {
      const rules = directed[i - 1] ?? samples.rules();
      const requests = Array.from({ length: REQUESTS }, () => samples.request());
      const answer = await go.ask({ rules, requests });
      comparison.add(rules, requests, read(judges.encodeRules(rules)), answer);
      if (i % PART === 0) console.log(`    ${i} policies …`);
    }
  } finally {
    await go.stop();
  }
  print(comparison, policies);
  const { failures, cases, byRule } = comparison;
  await step('every decision is equal, or differs by a rule', () => {
    demandNone(failures);
  });
  await step('every outcome is frequent', () => {
    const rare = Object.entries(cases).filter(([, count]) => count < policies / 4);
    if (rare.length > 0) throw new Error(`rare: ${JSON.stringify(rare)}`);
  });
  await step('every difference decides a case', () => {
    const unused = [...byRule].filter(([, count]) => count === 0).map(([rule]) => rule);
    if (unused.length > 0) throw new Error(`none by: ${unused.join('; ')}`);
  });
};

/** Policies of plain servers (gRFC A43), about which grpc-go must say the same. */
const runPolicies = async ({ peers, step, policies, seed }) => {
  const judges = load();
  const random = judges.seededRandom(seed);
  const samples = new judges.PolicySamples(random);
  const requestSamples = new judges.AuthorizationSamples(random);
  const read = judges.createOwnPolicies();
  const counts = { allow: 0, deny: 0, rejected: 0 };
  const failures = [];
  const go = await peers.authorization();
  try {
    for (let i = 0; i < policies; i++) {
      const policy = samples.policy();
      const requests = Array.from({ length: REQUESTS }, () => requestSamples.request());
      const answer = await go.ask({ policy, requests });
      const own = read(policy);
      for (const [j, request] of requests.entries()) {
        const expected = judges.judgePolicy(policy, request);
        const verdicts = { own: own?.(request) ?? 'rejected', go: verdictOf(answer, j) };
        counts[expected]++;
        if (verdicts.own === expected && verdicts.go === expected) continue;
        failures.push({ ...verdicts, expected, error: answer.rejected, policy, request });
      }
    }
  } finally {
    await go.stop();
  }
  console.log(`    ${policies} policies: ${JSON.stringify(counts)}`);
  await step('every decision by a policy of a plain server is equal', () => demandNone(failures));
};

export const authorizationCases = [
  { name: 'authorization: generated policies and requests', languages: ['go'], run },
  { name: 'authorization: policies of plain servers', languages: ['go'], run: runPolicies },
];
