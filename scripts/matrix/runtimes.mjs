// The client on a runtime: Node.js, Bun or Deno, each installed as a package into a folder of its own.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHECKS, plainEnvironment, runChecks } from './clients.mjs';
import { runNpm, withFolder, writeApplication } from './folder.mjs';

/** How each runs a file that may do everything. */
const RUNTIMES = {
  bun: { packageName: 'bun', args: [] },
  deno: { packageName: 'deno', args: ['run', '--allow-all'] },
};

export const runtimes = Object.keys(RUNTIMES);

/** Installs a package with a program. @returns the path of that. */
export function installProgram(folder, specifier, path) {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  runNpm(['install', specifier], folder);
  return join(folder, 'node_modules', path);
}

/** Runs all checks of the client with a program. @returns a row for the table, and what failed. */
export async function checkClient(folder, program, args, packed) {
  const application = join(folder, 'application');
  mkdirSync(application);
  const file = writeApplication(application, packed);
  runNpm(['install'], application);
  const options = { cwd: application, env: plainEnvironment() };
  const failures = await runChecks(program, [...args, file], options);
  const ok = CHECKS.length - failures.length;
  return {
    client: `${failures.length === 0 ? 'ok' : 'FAILED'} (${ok}/${CHECKS.length})`,
    failures,
  };
}

/** Checks the client on Bun or Deno. */
export function checkRuntime(name, packed) {
  const { packageName, args } = RUNTIMES[name];
  return withFolder(async (folder) => {
    const program = installProgram(join(folder, 'runtime'), packageName, `.bin/${name}`);
    const text = execFileSync(program, ['--version'], { encoding: 'utf8' });
    const { client, failures } = await checkClient(folder, program, args, packed);
    return { row: { on: `${name} ${/\d+\.\d+\.\d+/.exec(text)?.[0]}`, client }, failures };
  });
}
