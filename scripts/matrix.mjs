// Runs the tests and the demo on several versions of Node.js, each installed as a package into a folder of its own.
//
//   npm run matrix                every version
//   npm run matrix -- 20.19 26    these
//   npm run matrix -- --quick     the oldest and the newest
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const VERSIONS = ['20.19', '22', '24', '26'];

const root = fileURLToPath(new URL('..', import.meta.url));
const args = process.argv.slice(2);
const given = args.filter((arg) => arg !== '--quick');
const quick = args.includes('--quick') ? [VERSIONS[0], VERSIONS.at(-1)] : VERSIONS;
const versions = given.length > 0 ? given : quick;

/** Installs a version of Node.js. @returns the folder of its program. */
function install(version, folder) {
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  const options = ['--silent', '--no-audit', '--no-fund', `node@${version}`];
  execFileSync('npm', ['install', ...options], { cwd: folder, stdio: 'inherit' });
  return join(folder, 'node_modules/node/bin');
}

/** Runs a script of this repository. @returns its verdict, and how long it took. */
function run(name, scriptArgs, env) {
  const started = performance.now();
  const { status } = spawnSync(
    process.platform === 'win32' ? 'npm.cmd' : 'npm',
    ['run', '--silent', name, ...scriptArgs],
    {
      cwd: root,
      env,
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  );
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  return { verdict: status === 0 ? 'ok' : 'FAILED', seconds };
}

const rows = [];
for (const version of versions) {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-node-'));
  try {
    const bin = install(version, folder);
    const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
    const exact = execFileSync(join(bin, 'node'), ['--version'], { encoding: 'utf8' }).trim();
    const tests = run('test', ['--', '--ci', '--silent', '--reporters', 'summary'], env);
    const demo = run('demo', [], env);
    rows.push({ node: exact, tests: `${tests.verdict} (${tests.seconds} s)`, demo: demo.verdict });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
console.table(rows);
process.exitCode = rows.every(({ tests, demo }) => tests.startsWith('ok') && demo === 'ok') ? 0 : 1;
