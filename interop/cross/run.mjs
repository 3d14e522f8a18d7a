// Runs our client against a foreign control plane, and foreign clients against ours. Builds what they need first.
import { Command } from 'commander';
import { authorizationCases } from '../differential/authorization.mjs';
import { routeLookupCases } from '../differential/route-lookup.mjs';
import { differentialCases } from '../differential/differential.mjs';
import { meaningCases } from '../differential/meanings.mjs';
import { serverDifferentialCases } from '../differential/server-differential.mjs';
import { tlsCases } from '../tls/agreement.mjs';
import { tlsMatrix } from '../tls/matrix.mjs';
import { distributionCases } from './distribution.mjs';
import { debugCases } from './debug.mjs';
import { goControlPlaneCases } from './go-control-plane.mjs';
import { metricsCases } from './metrics.mjs';
import { Peers } from './peers.mjs';
import { relayCases } from './relay.mjs';
import { rotationCases } from './rotation.mjs';
import { secretDiscoveryCases } from './secret-discovery.mjs';
import { securityCases } from './security.mjs';
import { xdsServerCases } from './xds-servers.mjs';
import { prepare } from './tools.mjs';

const SERVER_NAMES = ['server-0', 'server-1', 'server-2', 'server-3', 'server-4'];

const program = new Command('npm run interop:cross --')
  .description('Runs this package against implementations in other languages.')
  .argument('[words...]', 'run only groups whose name contains one of these')
  .option('--policies <number>', 'policies that the authorization test generates', Number, 2000)
  .option('--seed <number>', 'what they are generated from', Number, 29)
  .option(
    '--resources <text>',
    'of the differential tests, only resources whose title contains it',
    '',
  )
  .option(
    '--short',
    'of generated resources, TLS cases and what one group repeats of another, only a tenth, which --seed chooses; and two of four relays',
  )
  .option('--verbose', 'print every step, not only those that fail')
  .parse();
const { verbose, policies, seed, resources, short: isShort = false } = program.opts();

/** Of cases that are alike: all, or each tenth. */
const sample = (list) => (isShort ? list.filter((_, index) => index % 10 === seed % 10) : list);

const seconds = (since) => ((performance.now() - since) / 1000).toFixed(1).padStart(6);
const failed = [];
const skipped = [];
let passed = 0;

const report = (since, verdict, text) => console.log(`${verdict} ${seconds(since)} s  ${text}`);

/** Builds in one language. Without its tools it is skipped; in CI that is a failure. */
const prepareOne = async (language, available) => {
  const since = performance.now();
  const { kind, missing } = await prepare(language);
  if (kind === 'ready') {
    available.add(language);
    report(since, 'ok    ', `build: ${language}`);
    return;
  }
  const inCi = process.env.CI === 'true';
  const text = `${language}: not on this machine: ${missing.join(', ')}`;
  report(since, inCi ? 'FAILED' : 'skip  ', text);
  (inCi ? failed : skipped).push(text);
};

const prepareAll = async () => {
  const available = new Set(['node', 'node-delta']);
  await Promise.all(['go', 'python', 'java'].map((language) => prepareOne(language, available)));
  return available;
};

/** Runs one step of a group; one that fails does not stop the others. */
const stepOf = (group) => async (name, run) => {
  const since = performance.now();
  try {
    await run();
    passed++;
    if (verbose) report(since, 'ok    ', `    ${name}`);
  } catch (error) {
    failed.push(`${group}: ${name}`);
    report(since, 'FAILED', `    ${name}\n${error.stack}`);
  }
};

const runGroup = async ({ name, languages, run }, context) => {
  const missing = languages.filter((language) => !context.available.has(language));
  if (missing.length > 0) {
    const text = `${name}: needs ${missing.join(', ')}`;
    skipped.push(text);
    console.log(`skip             ${text}`);
    return;
  }
  const since = performance.now();
  const before = failed.length;
  try {
    await run({ ...context, step: stepOf(name) });
  } catch (error) {
    failed.push(name);
    console.log(error.stack);
  }
  report(since, failed.length === before ? 'ok    ' : 'FAILED', name);
};

const isSelected = ({ name, isVariation = false }) =>
  !(isShort && isVariation) &&
  (program.args.length === 0 || program.args.some((word) => name.includes(word)));

process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
const startedAt = performance.now();
const available = await prepareAll();
const peers = new Peers();
const context = { available, peers, policies, seed, resources, sample };
Object.assign(context, { servers: [], backends: undefined });
if (available.has('go')) {
  context.backends = await peers.servers(SERVER_NAMES);
  const { ports } = context.backends.greeting;
  context.servers = SERVER_NAMES.map((name) => ({ name, port: ports[name] }));
}
const groups = [
  ...goControlPlaneCases,
  ...relayCases,
  ...secretDiscoveryCases,
  ...distributionCases,
  ...metricsCases,
  ...debugCases,
  ...differentialCases,
  ...meaningCases,
  ...serverDifferentialCases,
  ...authorizationCases,
  ...routeLookupCases,
  ...tlsCases,
  ...tlsMatrix,
  ...securityCases,
  ...xdsServerCases,
  ...rotationCases,
];
for (const group of groups.filter(isSelected)) await runGroup(group, context);
await peers.stop();

console.log(`\n${passed} passed, ${failed.length} failed, ${skipped.length} skipped`);
for (const name of failed) console.log(`FAILED ${name}`);
console.log(`in ${seconds(startedAt).trim()} s`);
process.exit(failed.length === 0 ? 0 : 1);
