// The packages as other package managers than npm install it: where each finds only what it declares.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { plainEnvironment, runChecks } from './clients.mjs';
import { runNpm, withFolder, writeApplication } from './folder.mjs';
import { installProgram } from './runtimes.mjs';

/** Each is a JavaScript file of its package. `exec` runs a program of the application; `isPlain`: Node.js runs without. */
const MANAGERS = {
  pnpm: {
    packageName: 'pnpm@10',
    path: 'pnpm/bin/pnpm.cjs',
    install: ['install', '--silent'],
    exec: ['--silent', 'exec'],
  },
  yarn: {
    packageName: 'yarn@1',
    path: 'yarn/bin/yarn.js',
    install: ['install', '--silent', '--no-progress'],
    exec: ['--silent', 'run'],
    isPlain: true,
  },
  pnp: {
    packageName: '@yarnpkg/cli-dist@4',
    path: '@yarnpkg/cli-dist/bin/yarn.js',
    install: ['install'],
    exec: ['exec'],
    files: { '.yarnrc.yml': 'nodeLinker: pnp\nenableTelemetry: false\n', 'yarn.lock': '' },
  },
};

export const packageManagers = Object.keys(MANAGERS);

const CHECKS = [
  'state of the world',
  'resources over REST',
  'metrics',
  'the live page and inspect()',
];

/** Installs with a package manager and makes calls. */
export function checkPackageManager(name, packed) {
  const { packageName, path, install, exec, isPlain = false, files = {} } = MANAGERS[name];
  return withFolder(async (folder) => {
    const script = installProgram(join(folder, 'manager'), packageName, path);
    const application = join(folder, 'application');
    mkdirSync(application);
    const file = writeApplication(application, packed);
    for (const [fileName, text] of Object.entries(files)) {
      writeFileSync(join(application, fileName), text);
    }
    // Yarn does not read the configuration of npm.
    const registry = runNpm(['config', 'get', 'registry'], folder).trim();
    const env = plainEnvironment({
      YARN_GLOBAL_FOLDER: join(folder, 'yarn'),
      YARN_ENABLE_GLOBAL_CACHE: 'false',
      // Yarn 1 takes a file of the same version from its cache, whatever is in it now.
      YARN_CACHE_FOLDER: join(folder, 'yarn-1'),
      // In CI, Yarn would not write a lock file.
      YARN_NPM_REGISTRY_SERVER: registry,
      YARN_ENABLE_IMMUTABLE_INSTALLS: 'false',
    });
    const options = { cwd: application, env, encoding: 'utf8' };
    const run = (args) => execFileSync(process.execPath, [script, ...args], options);
    const version = run(['--version']).trim();
    run(install);
    const command = isPlain ? [file] : [script, ...exec, 'node', file];
    const failures = await runChecks(process.execPath, command, options, CHECKS);
    const printed = run([...exec, 'grpc-xds', '--help']);
    if (!printed.includes('grpc-xds')) failures.push({ check: 'grpc-xds --help', reason: printed });
    const client = failures.length === 0 ? 'ok' : 'FAILED';
    return { row: { on: `${name} ${version}`, client }, failures };
  });
}
