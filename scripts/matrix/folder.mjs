// A folder as a user has it, with the package as it would be published.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packages, root } from '../packages.mjs';

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

/** Packs the built packages. @returns where to install each from, by its name. */
export function pack(folder) {
  const packed = packages.map(({ name, folder: path }) => {
    const options = ['--ignore-scripts', '--pack-destination', folder];
    const file = runNpm(['pack', ...options], join(root, path))
      .trim()
      .split('\n')
      .at(-1);
    return [name, `file:${join(folder, file)}`];
  });
  return Object.fromEntries(packed);
}

/** Writes the manifest of the application, which has the packages and grpc-js, and its only file. @returns its name. */
export function writeApplication(folder, packed) {
  const content = {
    name: 'application',
    private: true,
    dependencies: { '@grpc/grpc-js': GRPC_JS, ...packed },
    // The packages need each other by their versions, which no registry has yet.
    resolutions: packed,
    pnpm: { overrides: packed },
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(content, null, 2));
  const client = fileURLToPath(new URL('app/client.mjs', import.meta.url));
  copyFileSync(client, join(folder, 'client.mjs'));
  return 'client.mjs';
}
