// Runs the tests, the demo and the client on several versions of Node.js, the client on other runtimes, and the client as
// other package managers install it. Each is installed as a package into a folder of its own.
//
//   npm run matrix                   everything
//   npm run matrix -- 20.19 26       these versions of Node.js
//   npm run matrix -- bun deno pnpm  these
//   npm run matrix -- --quick        the oldest and the newest version, and the others without Node.js
//   npm run matrix -- --client 22    only the client, without the tests and the demo
import { execFileSync, spawnSync } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pack, withFolder } from './matrix/folder.mjs';
import { checkPackageManager, packageManagers } from './matrix/package-managers.mjs';
import { checkClient, checkRuntime, installProgram, runtimes } from './matrix/runtimes.mjs';

const VERSIONS = ['20.19', '22', '24', '26'];

const root = fileURLToPath(new URL('..', import.meta.url));
const args = process.argv.slice(2);
const names = args.filter((arg) => !arg.startsWith('--'));
const versions = args.includes('--quick') ? [VERSIONS[0], VERSIONS.at(-1)] : VERSIONS;
const selected = names.length > 0 ? names : [...versions, ...runtimes, ...packageManagers];

/** Runs a script of this repository. @returns its verdict with the time it took. */
function runScript(name, scriptArgs, env) {
  const started = performance.now();
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const { status } = spawnSync(npm, ['run', '--silent', name, ...scriptArgs], {
    cwd: root,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  return `${status === 0 ? 'ok' : 'FAILED'} (${seconds} s)`;
}

function checkVersion(version, packed) {
  return withFolder(async (folder) => {
    const program = installProgram(join(folder, 'node'), `node@${version}`, 'node/bin/node');
    const on = `node ${execFileSync(program, ['--version'], { encoding: 'utf8' }).trim().slice(1)}`;
    const { client, failures } = await checkClient(folder, program, [], packed);
    if (args.includes('--client')) return { row: { on, client }, failures };
    const env = { ...process.env, PATH: `${dirname(program)}${delimiter}${process.env.PATH}` };
    const tests = runScript('test', ['--', '--ci', '--silent', '--reporters', 'summary'], env);
    return { row: { on, client, tests, demo: runScript('demo', [], env) }, failures };
  });
}

function check(name, packed) {
  if (runtimes.includes(name)) return checkRuntime(name, packed);
  return packageManagers.includes(name)
    ? checkPackageManager(name, packed)
    : checkVersion(name, packed);
}

const rows = [];
await withFolder(async (folder) => {
  const packed = pack(folder);
  for (const name of selected) {
    const { row, failures } = await check(name, packed).catch((reason) => ({
      row: { on: name, client: 'FAILED' },
      failures: [{ check: 'installation', reason }],
    }));
    rows.push(row);
    for (const { check: title, reason } of failures) {
      console.log(`\n---- ${row.on}: ${title}\n${reason.stack ?? reason}`);
    }
  }
});
console.table(rows);
process.exitCode = JSON.stringify(rows).includes('FAILED') ? 1 : 0;
