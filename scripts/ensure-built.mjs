// Builds dist/ unless it is there and newer than what it is made of. Commands that run the package start with this, so that
// they work in a fresh clone, and one after the other builds once.
//
//   node scripts/ensure-built.mjs          what is run
//   node scripts/ensure-built.mjs types    and the declarations that are published
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { packages, root } from './packages.mjs';

const shell = process.platform === 'win32'; // npm is a batch file there
const inPackage = (folder, paths) => paths.map((path) => join(folder, path));
const programs = packages.flatMap(({ folder, entries, programs: own }) =>
  inPackage(folder, [...entries.map(({ code }) => code), ...own]),
);
const declarations = packages.flatMap(({ folder, entries }) =>
  inPackage(folder, entries.map(({ types }) => types).filter(Boolean)),
);

const changedAt = (path) =>
  statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? -Infinity;

/** Folders are among them: they change when a file is removed. */
const sources = [
  'package-lock.json',
  'rollup.config.mjs',
  'tsconfig.json',
  'tsconfig.build.json',
  'tsconfig.types.json',
  'tsconfig.api.json',
  'api-extractor.json',
  ...packages.flatMap(({ folder }) => [
    ...inPackage(folder, ['package.json', 'src']),
    ...readdirSync(join(root, folder, 'src'), { recursive: true }).map((name) =>
      join(folder, 'src', name),
    ),
  ]),
];
const newest = Math.max(...sources.map(changedAt));
const isOld = (targets) => Math.min(...targets.map(changedAt)) < newest;

// A build removes the declarations.
if (isOld(programs))
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit', shell });
if (process.argv[2] === 'types' && isOld(declarations)) {
  execFileSync(process.execPath, ['scripts/api.mjs', '--declarations'], {
    cwd: root,
    stdio: 'inherit',
  });
}
