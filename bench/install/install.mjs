// What an installation costs: files and bytes of the package itself, and what its dependencies add to those of grpc-js.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { printTable } from '../support/table.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

/** The files and bytes of a folder, without the packages in it. */
function measure(folder) {
  const total = { files: 0, bytes: 0 };
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || path.slice(folder.length).includes('/node_modules/')) continue;
    total.files++;
    total.bytes += statSync(path).size;
  }
  return total;
}

/** The folder of a package as another one finds it. */
function find(name, from) {
  for (let folder = from; ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name);
    if (existsSync(path)) return path;
    if (folder === dirname(folder)) throw new Error(`${name} is not installed`);
  }
}

/** The folders of a package and all its dependencies. */
function closure(folder, found = new Set()) {
  if (found.has(folder)) return found;
  found.add(folder);
  const { dependencies = {} } = readJson(join(folder, 'package.json'));
  for (const name of Object.keys(dependencies)) closure(find(name, folder), found);
  return found;
}

/** What is published of this package: `npm pack` knows. */
function measureOwn() {
  const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--silent'], { cwd: root });
  const [{ entryCount, unpackedSize }] = JSON.parse(packed);
  return { files: entryCount, bytes: unpackedSize };
}

const megabytes = (bytes) => (bytes / 1e6).toFixed(2);

/** A row: the package itself, and what it adds to an application that has grpc-js. */
function toRow(name, own, dependencies, known) {
  const added = [...dependencies].filter((folder) => !known.has(folder)).map(measure);
  const bytes = added.reduce((sum, each) => sum + each.bytes, own.bytes);
  const files = added.reduce((sum, each) => sum + each.files, own.files);
  return [name, String(own.files), megabytes(own.bytes), String(files), megabytes(bytes)];
}

export function run() {
  const host = find('@grpc/grpc-js', root);
  const known = closure(host);
  const peer = find('@grpc/grpc-js-xds', root);
  const { dependencies } = readJson(join(root, 'package.json'));
  const ours = new Set(Object.keys(dependencies).flatMap((name) => [...closure(find(name, root))]));
  const ofPeer = new Set([...closure(peer)].filter((folder) => folder !== peer));
  const ofHost = new Set([...known].filter((folder) => folder !== host));
  printTable([
    ['', 'files', 'MB', 'files with dependencies', 'MB with dependencies'],
    toRow('grpc-xds', measureOwn(), ours, known),
    toRow('@grpc/grpc-js-xds', measure(peer), ofPeer, known),
    toRow('@grpc/grpc-js', measure(host), ofHost, new Set()),
  ]);
  console.log('  With dependencies: what is added to an application that has @grpc/grpc-js.');
  console.log('  Targets: 150 files and 3 MB, and 10 MB with dependencies.');
}
