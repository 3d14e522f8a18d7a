// A real API server with etcd, pods that are real backends, `grpc-xds kubernetes`, and clients: `npm run kubernetes`. `-- --only
// compacted` runs the stories with that in their names, `-- --short` the short form, `-- --if-present` ends well where the
// programs are not there; otherwise that is exit code 3.
import { loadavg } from 'node:os';
import { findNamespaceProblem, isInNamespace, runInNamespace } from './cluster/namespace';
import { findPrograms } from './cluster/programs';
import { installControlPlane, installGatewayApi } from './cluster/install';
import { TestCluster } from './cluster/test-cluster';
import { apiServerKilled, compacted, etcdKilled } from './stories/outages';
import { example } from './stories/example';
import { manifests } from './stories/manifests';
import { massRewrite } from './stories/mass-rewrite';
import { otherClients } from './stories/other-clients';
import { fallbackKilled, replicaKilled } from './stories/replicas';
import { routingCases } from './stories/routing-cases';
import { abruptUpdate, rollingUpdate } from './stories/rolling-update';
import { tokens } from './stories/tokens';
import type { Story, StoryContext } from './stories/story';
import { nodeObjects } from './workload/deployment';
import { prepareLanguage } from './workload/peers';
import { readOptions } from '../support/options';

const STORIES: readonly Story[] = [
  manifests,
  example,
  rollingUpdate,
  abruptUpdate,
  apiServerKilled,
  etcdKilled,
  compacted,
  massRewrite,
  replicaKilled,
  fallbackKilled,
  tokens,
  routingCases,
  ...otherClients,
];

/** It did not run, since something is missing on this machine. */
const NOT_RUN = 3;

const flags = readOptions('npm run kubernetes', {
  only: { default: '', about: 'only stories whose name contains this' },
  short: { default: false, about: 'only the stories of the short form' },
  'if-present': { default: false, about: 'succeed without an API server' },
  keep: { default: false, about: 'keep what was started' },
});

const selected = STORIES.filter(
  ({ name, isInShortForm }) => name.includes(flags.only) && (!flags.short || isInShortForm),
);

/** Runs one story. @returns whether all is as it should be. */
async function runStory(story: Story, context: StoryContext): Promise<boolean> {
  const startedMs = performance.now();
  const outcome = await story.run(context).catch((error: Error) => ({
    facts: [],
    misses: [error.stack ?? error.message],
  }));
  const { facts, misses } = outcome;
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1).padStart(6);
  const verdict = misses.length === 0 ? 'ok    ' : 'FAILED';
  process.stdout.write(`${verdict} ${seconds} s  ${[story.name, ...facts].join('; ')}\n`);
  for (const miss of misses) process.stdout.write(`       ${miss}\n`);
  return misses.length === 0;
}

/** How many stories ended so. */
const ended = { passed: 0, failed: 0, skipped: 0 };

/** Runs a story, unless its tools are missing. */
async function runOrSkip(story: Story, context: StoryContext): Promise<void> {
  const missing = await missingTools(story);
  if (missing.length > 0) {
    ended.skipped++;
    process.stdout.write(`skip             ${story.name}: not here: ${missing.join(', ')}\n`);
  } else if (await runStory(story, context)) ended.passed++;
  else ended.failed++;
}

/** Runs the stories one after the other in one cluster. */
async function runStories(): Promise<number> {
  const found = findPrograms(false);
  if (!found.ok) throw new Error(found.reason);
  const cluster = await TestCluster.start(found.programs);
  try {
    await installGatewayApi(cluster.api);
    const account = await installControlPlane(cluster.api);
    for (const node of nodeObjects()) await cluster.api.apply(node);
    const context = { cluster, account, isShort: flags.short };
    for (const story of selected) await runOrSkip(story, context);
  } finally {
    await cluster.stop({ keepsFiles: flags.keep });
  }
  const { passed, failed, skipped } = ended;
  const load = loadavg().map((value) => value.toFixed(1));
  process.stdout.write(`load of the machine: ${load.join(', ')}\n`);
  process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
  if (flags.keep) process.stdout.write(`logs: ${cluster.folder}\n`);
  return failed === 0 ? 0 : 1;
}

/** Builds the program of another language that a story needs. @returns the tools that are missing. */
async function missingTools({ language }: Story): Promise<readonly string[]> {
  return language === undefined ? [] : prepareLanguage(language);
}

/** Finds what is needed, and runs this program again in a namespace. */
async function prepare(): Promise<number> {
  const found = findPrograms(!flags['if-present']);
  const problem = found.ok ? findNamespaceProblem() : found.reason;
  if (problem === undefined) {
    // There is no network in the namespace to load packages from.
    await Promise.all(selected.map(missingTools));
    return runInNamespace();
  }
  process.stdout.write(`The Kubernetes tests did not run: ${problem}\n`);
  return flags['if-present'] ? 0 : NOT_RUN;
}

async function main(): Promise<void> {
  if (selected.length === 0) throw new Error(`no story has ${flags.only} in its name`);
  process.exit(await (isInNamespace() ? runStories() : prepare()));
}

void main();
