// Makes a version out of what CHANGELOG.md has under "Unreleased", and reads the notes of one.
//
//   npm run release -- 1.2.0         writes the version and the date into the files
//   npm run release -- notes v1.2.0  prints what the changelog has for it; fails unless it is that of package.json
import { readFileSync, writeFileSync } from 'node:fs';

const UNRELEASED = '## Unreleased\n';
const VERSION = /^\d+\.\d+\.\d+(-[\w.]+)?$/;

const read = (path) => readFileSync(path, 'utf8');
const readVersion = () => JSON.parse(read('package.json')).version;

function fail(message) {
  console.error(message);
  process.exit(1);
}

/** What is under a heading of the second level; `undefined` if it is not there. */
function sectionOf(changelog, heading) {
  const start = changelog.indexOf(heading);
  if (start === -1) return undefined;
  const text = changelog.slice(changelog.indexOf('\n', start) + 1);
  const end = text.search(/^## /m);
  return (end === -1 ? text : text.slice(0, end)).trim();
}

function replace(path, from, to) {
  const text = read(path);
  if (!text.includes(from)) fail(`${path}: ${JSON.stringify(from)} is not there`);
  writeFileSync(path, text.replace(from, to));
}

/** Compares the numbers of two versions. */
function isHigher(version, than) {
  const numbers = (text) => text.split('-')[0].split('.').map(Number);
  const [a, b] = [numbers(version), numbers(than)];
  const index = a.findIndex((number, i) => number !== b[i]);
  return index !== -1 && a[index] > b[index];
}

function release(version) {
  const current = readVersion();
  // The first version may be the one that is there from the start.
  const isFirst = !/^## \d/m.test(read('CHANGELOG.md')) && version === current;
  if (!isFirst && !isHigher(version, current)) fail(`${version} is not above ${current}`);
  if (!sectionOf(read('CHANGELOG.md'), UNRELEASED)) fail('CHANGELOG.md: nothing under Unreleased');
  const date = new Date().toISOString().slice(0, 10);
  replace('CHANGELOG.md', UNRELEASED, `${UNRELEASED}\n## ${version} - ${date}\n`);
  replace('src/util/version.ts', `'${current}'`, `'${version}'`);
  for (const path of ['package.json', 'package-lock.json']) {
    replace(path, `"version": "${current}"`, `"version": "${version}"`);
  }
  // The lock file has it a second time, for the package among the packages.
  const lock = JSON.parse(read('package-lock.json'));
  lock.packages[''].version = version;
  writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`Commit this as "Release ${version}", and push the tag v${version}.`);
}

function printNotes(tag) {
  const version = tag.replace(/^v/, '');
  if (version !== readVersion())
    fail(`${tag} is not the version of package.json, ${readVersion()}`);
  const notes = sectionOf(read('CHANGELOG.md'), `## ${version} - `);
  if (!notes) fail(`CHANGELOG.md: nothing under ${version}`);
  console.log(notes);
}

const [command = '', tag = ''] = process.argv.slice(2);
if (command === 'notes') printNotes(tag);
else if (VERSION.test(command)) release(command);
else fail('Usage: npm run release -- <version>, or npm run release -- notes <tag>');
