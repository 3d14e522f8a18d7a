import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readPages } from './pages';
import { sourceFiles } from '../support/source-files';

const ROOT = join(__dirname, '../..');
const pages = readPages().map(({ path, text }) => ({ path, text }));

/** The members of an object of package.json. */
function membersOf(name: 'scripts' | 'exports'): readonly string[] {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
    typeof name,
    object
  >;
  return Object.keys(manifest[name]);
}

const scripts = new Set(membersOf('scripts'));
const benchmarks = new Set(
  Array.from(
    readFileSync(join(ROOT, 'bench/main.mjs'), 'utf8').matchAll(/\['(\w+)', /g),
    ([, name = '']) => name,
  ),
);
const program = [
  'packages/cli/src/program.ts',
  ...['kubernetes', 'bootstrap'].map((name) => `packages/cli/src/commands/${name}.ts`),
].map((path) => readFileSync(join(ROOT, path), 'utf8'));
/** Whether the program adds a command of this name. */
const isCommand = (name: string) => program.some((text) => text.includes(`'${name}'`));
/** Finds the matches of a pattern in all pages, each with its page. */
function find(pattern: RegExp): readonly { readonly path: string; readonly name: string }[] {
  return pages.flatMap(({ path, text }) =>
    Array.from(text.matchAll(pattern), ([, name = '']) => ({ path, name })),
  );
}

function wordsOf(path: string): readonly string[] {
  return readFileSync(join(ROOT, path), 'utf8').match(/\b[A-Za-z]+\b/g) ?? [];
}

describe('the pages', () => {
  it('name only scripts of package.json, or of a package that they show', () => {
    const found = find(/npm run (?:--silent )?([a-z][\w:-]*)/g);
    expect(found.length).toBeGreaterThan(20);
    const missing = found.filter(({ path, name }) => {
      const shown = pages.find((page) => page.path === path)?.text.includes(`"${name}": "`);
      return !scripts.has(name) && shown !== true;
    });
    expect(missing).toEqual([]);
  });

  it.each(['trial', 'update'])('name only what npm run %s can run', (command) => {
    const table = readFileSync(join(ROOT, 'scripts/commands.mjs'), 'utf8');
    const found = find(new RegExp(`npm run ${command} -- ([a-z-]+)`, 'g'));
    expect(found.length).toBeGreaterThan(2);
    const named = (name: string) => table.includes(` ${name}: {`) || table.includes(`'${name}': {`);
    expect(found.filter(({ name }) => !named(name))).toEqual([]);
  });

  it('name only benchmarks that there are', () => {
    const found = find(/npm run bench -- ((?:[a-z]+ ?)+)/g);
    const names = found.flatMap(({ path, name }) =>
      name
        .trim()
        .split(' ')
        .map((each) => ({ path, name: each })),
    );
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter(({ name }) => !benchmarks.has(name))).toEqual([]);
  });

  it('name only commands that there are', () => {
    const found = find(/npx grpc-xds-cli ([a-z][\w-]*)/g);
    expect(found.length).toBeGreaterThan(20);
    expect(found.filter(({ name }) => !isCommand(name))).toEqual([]);
  });

  it('have no options of a command that they do not name', () => {
    const headless = pages.filter(
      ({ text }) => /`-- --?[a-z]/.test(text) && !/npm run [a-z]/.test(text),
    );
    expect(headless.map(({ path }) => path)).toEqual([]);
  });

  it('have nothing after a colon that announces a list', () => {
    const empty = find(/^([A-Z][^\n|]{0,60}\b(?:are|is)):\n\n(?=[A-Z#]|$)/gm);
    expect(empty).toEqual([]);
  });
});

describe('lists of the entries of the package', () => {
  const entries = membersOf('exports')
    .filter((name) => name !== './internal')
    .filter((name) => /^\.\/[a-z-]+$/.test(name))
    .map((name) => name.slice(1));

  it('have all of them', () => {
    const lists = pages
      // The README has an issue of its own.
      .filter(({ path }) => path !== 'README.md')
      .flatMap(({ path, text }) =>
        text.split(/\n\n|\n(?=[-|])/).map((part) => ({
          path,
          named: entries.filter((entry) => part.includes(`\`grpc-xds${entry}\``)),
        })),
      )
      .filter(({ named }) => named.length > 2);
    expect(lists.length).toBeGreaterThan(0);
    for (const list of lists) expect(list).toEqual({ path: list.path, named: entries });
  });
});

describe('the page of a folder', () => {
  const folders = sourceFiles('README.md').map((path) => dirname(path));
  const words = new Set(sourceFiles('.ts').flatMap((path) => wordsOf(path)));

  it.each(folders)('names types and functions that there are: %s', (folder) => {
    const text = readFileSync(join(ROOT, folder, 'README.md'), 'utf8');
    const named = Array.from(text.matchAll(/\b[A-Za-z]*[a-z][A-Z][A-Za-z]+\b/g), ([name]) => name);
    const isThere = (name: string) => words.has(name) || words.has(name.replace(/s$/, ''));
    expect(named.filter((name) => !isThere(name))).toEqual([]);
  });

  it.each(folders)('names folders that there are: %s', (folder) => {
    const [, , first = ''] = readFileSync(join(ROOT, folder, 'README.md'), 'utf8').split('\n');
    expect(first).not.toMatch(/\bwill\b/);
    const named = Array.from(first.matchAll(/`([a-z][a-z-/]*)`/g), ([, name = '']) => name);
    const isThere = (name: string) =>
      [folder, 'src', '.'].some((base) => existsSync(join(ROOT, base, name))) ||
      existsSync(join(ROOT, folder, `${name}.ts`)) ||
      name.startsWith('grpc-xds');
    expect(named.filter((name) => !isThere(name))).toEqual([]);
  });
});
