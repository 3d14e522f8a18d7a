// Builds dist/ unless it is there and newer than what it is made of. Commands that run the package start with this, so that
// they work in a fresh clone, and one after the other builds once.
//
//   node scripts/ensure-built.mjs          what is run
//   node scripts/ensure-built.mjs types    and the declarations that are published
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const shell = process.platform === 'win32'; // npm is a batch file there
const { exports, bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const entries = Object.values(exports).filter((target) => typeof target !== 'string');
const programs = [...entries.map((entry) => entry.default), ...Object.values(bin)];
const declarations = entries.map(({ types }) => types);

const changedAt = (path) =>
  statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? -Infinity;

/** Folders are among them: they change when a file is removed. */
const sources = [
  ...['src', 'package.json', 'package-lock.json', 'rollup.config.mjs'],
  ...['tsconfig.json', 'tsconfig.build.json', 'tsconfig.types.json', 'api-extractor.json'],
  ...readdirSync(join(root, 'src'), { recursive: true }).map((name) => join('src', name)),
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
