// Generated configs of rls and sequences of calls, by the policy of this package and by that of grpc-go: which configs each accepts,
// which keys each looks up, and to which target each call goes.
import { createRequire } from 'node:module';

const CONFIGS = 500;
const REQUESTS = 8;

/** Cases that are printed of those in which both differ. */
const SHOWN = 5;

/** The generator and our side are TypeScript, as all tests are. */
const load = () => {
  const require = createRequire(import.meta.url);
  require('../../test/support/run-typescript.cjs');
  return {
    ...require('../../test/support/own-route-lookup'),
    ...require('../../test/support/route-lookup-samples'),
    ...require('../../test/support/seeded-random'),
  };
};

/** Key maps in a form that is the same for both. */
const sorted = (outcomes) =>
  outcomes?.map(({ lookups, target }) => ({
    lookups: (lookups ?? []).map((keys) => Object.entries(keys ?? {}).sort()),
    target,
  }));

const run = async ({ peers, step, seed }) => {
  const { RouteLookupSamples, routeLookupsOf, seededRandom } = load();
  const samples = new RouteLookupSamples(seededRandom(seed));
  const counts = { rejected: 0, known: 0, targets: 0, failures: 0, cached: 0 };
  const failures = [];
  const go = await peers.routeLookups();
  try {
    const { lookupService } = go.greeting;
    for (let i = 0; i < CONFIGS; i++) {
      const { config, isRejectedHere } = samples.config(lookupService);
      const requests = Array.from({ length: REQUESTS }, () => samples.request());
      const theirs = await go.ask({ config, requests });
      const own = routeLookupsOf(config, requests);
      if (theirs.error !== undefined) throw new Error(theirs.error);
      if (own.rejected !== undefined) counts.rejected++;
      if (isRejectedHere && own.rejected !== undefined && theirs.rejected === undefined) {
        counts.known++;
        continue;
      }
      for (const { lookups, target } of own.outcomes ?? []) {
        counts[target === '' ? 'failures' : 'targets']++;
        if (lookups.length === 0) counts.cached++;
      }
      const isEqual =
        JSON.stringify(sorted(own.outcomes)) === JSON.stringify(sorted(theirs.outcomes));
      if (!isEqual) failures.push({ config, requests, own, theirs });
    }
  } finally {
    await go.stop();
  }
  console.log(`    ${CONFIGS} configs: ${JSON.stringify(counts)}`);
  await step('every config, key and target is equal', () => {
    if (failures.length === 0) return;
    const shown = failures.slice(0, SHOWN).map((failure) => JSON.stringify(failure));
    throw new Error(`${failures.length} are not:\n${shown.join('\n')}`);
  });
  await step('every outcome is frequent', () => {
    const rare = Object.entries(counts).filter(([, count]) => count < CONFIGS / 50);
    if (rare.length > 0) throw new Error(`rare: ${JSON.stringify(rare)}`);
  });
};

export const routeLookupCases = [
  { name: 'route lookups: generated configs and calls', languages: ['go'], run },
];
