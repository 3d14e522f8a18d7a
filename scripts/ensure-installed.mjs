// Runs `npm ci` unless node_modules already holds what package-lock.json asks for. Every command in
// CONTRIBUTING.md starts with this, so that it works in a fresh clone; it takes a few milliseconds when
// there is nothing to do.
//
// An argument names another folder with a package-lock.json of its own.
//
// It compares versions, not modification times: switching branches touches files but installs nothing.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', process.argv[2] ?? '.');

const readPackages = (...path) => {
  let text;
  try {
    text = readFileSync(join(root, ...path), 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
  return new Map(Object.entries(JSON.parse(text).packages));
};

/** Says why an installation is needed, or undefined when it is not. */
const reasonToInstall = () => {
  const wanted = readPackages('package-lock.json');
  if (wanted === undefined) throw new Error('package-lock.json is missing; restore it from git');
  const installed = readPackages('node_modules', '.package-lock.json');
  if (installed === undefined) return 'node_modules is missing';
  for (const [path, { version, optional = false, devOptional = false }] of wanted) {
    if (path === '') continue;
    const present = installed.get(path);
    // Optional packages are built for one platform each; npm leaves out those of the others.
    if (present === undefined && (optional || devOptional)) continue;
    if (present === undefined) return `${path} is missing`;
    if (present.version !== version) return `${path} is ${present.version}, wanted ${version}`;
  }
  return undefined;
};

// The build is a part of the installation: see prepare.mjs.
const isInstalling = process.env.GRPC_XDS_INSTALLING === 'true';
const reason = isInstalling ? undefined : reasonToInstall();
if (reason !== undefined) {
  console.log(`Installing dependencies: ${reason}`);
  const shell = process.platform === 'win32'; // npm is a batch file there
  const { status, error } = spawnSync('npm', ['ci'], { cwd: root, stdio: 'inherit', shell });
  if (error !== undefined) console.error(`npm ci did not start: ${error.message}`);
  process.exitCode = status ?? 1;
}
