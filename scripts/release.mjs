// Makes a version out of what CHANGELOG.md has under "Unreleased", publishes it, and reads the notes of one.
//
//   npm run release -- 1.2.0         writes the version and the date into the files of all packages
//   npm run release -- publish       publishes the library and then its companions, with the options of npm publish; those that are published already are left out, so
//                                    that the command can be run again after a failure
//   npm run release -- notes v1.2.0  prints what the changelog has for it; fails unless it is that of package.json
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const shell = process.platform === 'win32'; // npm is a batch file there
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
  for (const folder of folders()) setVersion(join(folder, 'package.json'), version);
  // The lock file has a copy of what each package needs.
  const lock = JSON.parse(read('package-lock.json'));
  lock.version = version;
  for (const folder of folders()) {
    const copy = lock.packages[folder === '.' ? '' : folder];
    copy.version = version;
    setOwnNeeds(copy, version);
  }
  writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`Commit this as "Release ${version}", and push the tag v${version}.`);
}

/** The folders of the library and of its companions, in the order in which they are published. */
function folders() {
  const companions = readdirSync('packages').map((name) => `packages/${name}`);
  // The command line needs the others.
  return ['.', ...companions.filter((each) => each !== 'packages/cli').sort(), 'packages/cli'];
}

function setVersion(path, version) {
  const manifest = JSON.parse(read(path));
  manifest.version = version;
  setOwnNeeds(manifest, version);
  writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Packages of this repository need each other in exactly one version. */
function setOwnNeeds({ dependencies = {}, peerDependencies = {} }, version) {
  for (const needs of [dependencies, peerDependencies]) {
    for (const name of Object.keys(needs)) {
      if (/^grpc-xds(-|$)/.test(name)) needs[name] = version;
    }
  }
}

/** @param options Of `npm publish`. */
function publish(options) {
  for (const folder of folders()) {
    const { name, version } = JSON.parse(read(join(folder, 'package.json')));
    const npm = (...args) => spawnSync('npm', args, { cwd: folder, encoding: 'utf8', shell });
    if (npm('view', `${name}@${version}`, 'version').stdout.trim() === version) {
      console.log(`${name} ${version} is published already`);
      continue;
    }
    try {
      execFileSync('npm', ['publish', ...options], { cwd: folder, stdio: 'inherit', shell });
    } catch {
      fail(
        `${name} ${version} was not published: mend it, and run npm run release -- publish again`,
      );
    }
  }
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
else if (command === 'publish') publish(process.argv.slice(3));
else if (VERSION.test(command)) release(command);
else fail('Usage: npm run release -- <version>, -- publish, or -- notes <tag>');
