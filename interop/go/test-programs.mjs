// Builds grpc-go's own test client and test server with the grpc-go of go.mod. They are a module without releases since
// grpc-go 1.65. The last that was released goes well with newer libraries.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const LAST_RELEASE = 'google.golang.org/grpc@v1.64.1';
// Below grpc-go's name, because Go lets only such modules import its internal packages, as the programs do.
const MODULE = 'google.golang.org/grpc/interop/xds';

const here = dirname(fileURLToPath(import.meta.url));

const go = (args, cwd = here) =>
  execFileSync('go', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

const copySources = (from, to) => {
  mkdirSync(to, { recursive: true });
  const sources = readdirSync(from).filter((n) => n.endsWith('.go') && !n.endsWith('_test.go'));
  for (const name of sources) copyFileSync(join(from, name), join(to, name));
};

/**
 * Builds one of them.
 * @param name `client` or `server`.
 * @returns the path of the program.
 */
export const buildTestProgram = (name) => {
  const folder = join(here, 'build', `xds-${name}`);
  const { Dir: released } = JSON.parse(go(['mod', 'download', '-json', LAST_RELEASE]));
  const sources = join(released, 'interop', 'xds');
  rmSync(folder, { recursive: true, force: true });
  copySources(sources, folder);
  copySources(join(sources, name), join(folder, name));
  const requirements = readFileSync(join(here, 'go.mod'), 'utf8').replace(/^module .*$/m, '');
  writeFileSync(join(folder, 'go.mod'), `module ${MODULE}\n${requirements}`);
  copyFileSync(join(here, 'go.sum'), join(folder, 'go.sum'));
  const program = join(folder, `xds-${name}`);
  go(['build', '-mod=mod', '-buildvcs=false', '-o', program, `./${name}`], folder);
  return program;
};
