// Everything but the tests: runs the steps below, two at a time, prints one line for each and, at the
// end, the whole output of those that failed.
//
//   npm run check                   all steps
//   npm run check -- lint layers    only these, and those they need

import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const atOnce = Math.min(2, availableParallelism());

/** Each step: its command line, and the steps whose results it reads. The generator replaces files that others read. */
const steps = new Map([
  ['generated', ['node scripts/check-generated.mjs']],
  ['build', ['npm run --silent build', 'generated']],
  ['lint', ['eslint .', 'generated']],
  ['api', ['node scripts/api.mjs', 'build']],
  // Companions alone use the internal entry, from the sources.
  ['types', ['attw --pack . --no-emoji --exclude-entrypoints internal', 'api']],
  ['package', ['publint --strict', 'api']],
  ['reference', ['node scripts/reference.mjs --check', 'api']],
  ['limits', ['node scripts/limits.mjs --check']],
  ['docs', ['node --require ./test/support/run-typescript.cjs test/docs/run-docs.ts', 'api']],
  ['size', ['node scripts/size.mjs', 'api']],
  ['smoke', ['node scripts/smoke-package.mjs && node scripts/smoke-tarball.mjs', 'build']],
  ['typecheck', ['npm run --silent typecheck', 'generated']],
  ['unused', ['knip', 'generated']],
  ['layers', ['depcruise src packages/*/src --config .dependency-cruiser.cjs', 'generated']],
  ['format', ['prettier --check --log-level warn .', 'generated']],
  ['proto:lint', ['buf lint']],
  ['proto:breaking', ['node scripts/buf-breaking.mjs']],
]);

const commandOf = (name) => steps.get(name)[0];
const needsOf = (name) => steps.get(name).slice(1);

const select = (names) => {
  const unknown = names.filter((name) => !steps.has(name));
  if (unknown.length > 0) {
    console.error(`There is no step ${unknown.join(', ')}. Steps: ${[...steps.keys()].join(', ')}`);
    process.exit(2);
  }
  const selected = new Set();
  const add = (name) => {
    selected.add(name);
    // The generator is slow and others need it only for order, so it runs when asked for.
    for (const needed of needsOf(name)) if (needed !== 'generated') add(needed);
  };
  for (const name of names) add(name);
  return names.length === 0 ? [...steps.keys()] : [...steps.keys()].filter((n) => selected.has(n));
};

const runScript = (name) =>
  new Promise((resolve) => {
    const started = performance.now();
    const output = [];
    const child = spawn(commandOf(name), [], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: true,
    });
    child.stdout.on('data', (chunk) => output.push(chunk));
    child.stderr.on('data', (chunk) => output.push(chunk));
    child.on('error', (error) => output.push(Buffer.from(`${error.message}\n`)));
    child.on('close', (code) =>
      resolve({
        name,
        verdict: code === 0 ? 'ok' : 'FAILED',
        seconds: (performance.now() - started) / 1000,
        output: Buffer.concat(output).toString('utf8').trimEnd(),
      }),
    );
  });

/** Whether a step uses what another writes. The generator is there for order only. */
const isNeeded = (name, other) => other !== 'generated' && needsOf(name).includes(other);

/** What looks at dist/ would only repeat what the step that writes it has said. */
const leaveOut = (name) =>
  Promise.resolve({ name, verdict: 'NOT RUN', seconds: 0, output: 'a step before it failed' });

const report = ({ name, verdict, seconds }) =>
  console.log(`${name.padEnd(16)} ${seconds.toFixed(1).padStart(6)} s  ${verdict}`);

/** Starts every step whose needs have ended, as many at once as there is room for. */
const runAll = async (names) => {
  const waiting = new Set(names);
  const running = new Map();
  const results = [];
  const endedOrLeftOut = (name) => !waiting.has(name) && !running.has(name);
  while (waiting.size > 0 || running.size > 0) {
    for (const name of waiting) {
      if (running.size >= atOnce) break;
      if (!needsOf(name).every(endedOrLeftOut)) continue;
      waiting.delete(name);
      const broken = results.some((r) => r.verdict !== 'ok' && isNeeded(name, r.name));
      const run = broken ? leaveOut : runScript;
      running.set(name, run(name));
    }
    const result = await Promise.race(running.values());
    running.delete(result.name);
    results.push(result);
    report(result);
  }
  return results;
};

const started = performance.now();
const results = await runAll(select(process.argv.slice(2)));
const failed = results.filter(({ verdict }) => verdict !== 'ok');
for (const { name, output } of failed) {
  console.log(`\n---- npm run check -- ${name}\n${output === '' ? '(no output)' : output}`);
}
const total = ((performance.now() - started) / 1000).toFixed(1);
console.log(
  failed.length === 0
    ? `\nAll ${results.length} checks passed in ${total} s.`
    : `\n${failed.length} of ${results.length} checks failed in ${total} s: ${failed.map(({ name }) => name).join(', ')}`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
