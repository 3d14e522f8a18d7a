// What `npm pack` and `npm publish` run first: builds what package.json names and is not there, or is older than the sources,
// so that the package of a fresh clone is complete. For a publication, links in pages become absolute; see repository.mjs.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeLinksAbsolute } from './repository.mjs';

const shell = process.platform === 'win32'; // npm is a batch file there
const { exports, bin } = JSON.parse(readFileSync('package.json', 'utf8'));

/** The files of dist/ that package.json names. */
const targets = [
  ...Object.values(exports).flatMap((target) =>
    typeof target === 'string' ? [] : Object.values(target),
  ),
  ...Object.values(bin),
];

const changedAt = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? -Infinity;
const sources = readdirSync('src', { recursive: true }).map((name) => join('src', name));
const oldest = Math.min(...targets.map(changedAt));
const newest = Math.max(...sources.map(changedAt));

if (oldest < newest) {
  execFileSync(process.execPath, ['scripts/ensure-installed.mjs'], { stdio: 'inherit' });
  for (const script of ['build', 'check:api']) {
    execFileSync('npm', ['run', '--silent', script], { stdio: 'inherit', shell });
  }
}
if (process.env.npm_command === 'publish') makeLinksAbsolute();
