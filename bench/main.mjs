// Runs the benchmarks named on the command line: `npm run bench -- start`.
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
  ['hostile', () => import('./hostile/hostile.mjs')],
]);

/** Several under one name. */
const groups = new Map([['scale', ['eds', 'clusters']]]);

const names = process.argv.slice(2).flatMap((name) => groups.get(name) ?? [name]);
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
  await run();
}
