// A folder as a user has it, with the package as it would be published.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const GRPC_JS = '^1.14.0';
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';

/** Runs npm without its questions. */
export function runNpm(args, cwd) {
  const options = ['--silent', '--no-audit', '--no-fund'];
  return execFileSync(npm, [...options, ...args], { cwd, encoding: 'utf8' });
}

/** Calls a function with a new folder, and removes that afterwards. */
export async function withFolder(use) {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-matrix-'));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Packs the built package. @returns the path of the tarball. */
export function pack(folder) {
  const name = runNpm(['pack', '--ignore-scripts', '--pack-destination', folder], root);
  return join(folder, name.trim().split('\n').at(-1));
}

/** Writes the manifest of the application, which has the package and grpc-js, and its only file. @returns its name. */
export function writeApplication(folder, tarball, manifest = {}) {
  const dependencies = { '@grpc/grpc-js': GRPC_JS, 'grpc-xds': `file:${tarball}` };
  const content = { name: 'application', private: true, dependencies, ...manifest };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(content, null, 2));
  const client = fileURLToPath(new URL('app/client.mjs', import.meta.url));
  copyFileSync(client, join(folder, 'client.mjs'));
  return 'client.mjs';
}
