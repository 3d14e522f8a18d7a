// Runs the benchmarks named on the command line: `npm run bench -- start`. Options, which some have, follow the names.
const benchmarks = new Map([
  ['start', () => import('./start/start.mjs')],
  ['rpc', () => import('./rpc/rpc.mjs')],
  ['metrics', () => import('./metrics/metrics.mjs')],
  ['page', () => import('./page/page.mjs')],
  ['eds', () => import('./eds/eds.mjs')],
  ['clusters', () => import('./clusters/clusters.mjs')],
  ['delta', () => import('./delta/delta.mjs')],
  ['install', () => import('./install/install.mjs')],
  ['loads', () => import('./loads/loads.mjs')],
  ['tls', () => import('./tls/tls.mjs')],
  ['server', () => import('./server/server.mjs')],
  ['relay', () => import('./relay/relay.mjs')],
  ['kubernetes', () => import('./kubernetes/kubernetes.mjs')],
  ['hostile', () => import('./hostile/hostile.mjs')],
  ['growth', () => import('./growth/growth.mjs')],
  ['anchors', () => import('./anchors/anchors.mjs')],
  ['gates', () => import('./gates/gates.mjs')],
]);

/** Several under one name. */
const groups = new Map([['scale', ['eds', 'clusters']]]);

const isOption = (word) => word.startsWith('-');
const words = process.argv.slice(2);
const end = words.findIndex(isOption);
const options = end < 0 ? [] : words.slice(end);
const names = words
  .slice(0, words.length - options.length)
  .flatMap((name) => groups.get(name) ?? [name]);
const unknown = names.filter((name) => !benchmarks.has(name));
if (names.length === 0 || unknown.length > 0) {
  if (unknown.length > 0) console.error(`There is no benchmark ${unknown.join(', ')}.`);
  console.error(
    `Usage: npm run bench -- NAME...   NAME is one of: ${[...benchmarks.keys(), ...groups.keys()].join(', ')}`,
  );
  process.exit(2);
}
for (const name of names) {
  const load = benchmarks.get(name);
  const { run } = await load();
  await run(options);
}
