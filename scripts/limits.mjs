// Writes the tables of fixed limits in docs/limits.md from the comments of the files that define them.
//
//   npm run update -- limits   writes the tables
//   npm run check -- limits    fails when they differ
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as prettier from 'prettier';
import ts from 'typescript';
import { root } from './packages.mjs';

const PAGE = 'docs/limits.md';
const LIBRARY = 'src/util/limits.ts';
const FILES = [LIBRARY, 'packages/relay/src/limits.ts'];
const MARK = /(<!-- Written by npm run update -- limits -->)[^]*?(<!-- end -->)/;

/** The values of the constants of a file, which imports nothing but types. */
function evaluate(text) {
  const exports = {};
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
  });
  new Function('exports', outputText)(exports);
  return exports;
}

/** What a comment says: what is counted, its first sentence, and what happens beyond the limit. `undefined` for other constants. */
function describe(node, name) {
  const doc = node.jsDoc?.at(-1);
  const beyond = doc?.tags?.find(({ tagName }) => tagName.text === 'beyond');
  if (beyond === undefined) return undefined;
  const [sentence, what] = /^([^]*?)\.(?=\s|$)/.exec(doc?.comment ?? '') ?? [];
  if (sentence === undefined) throw new Error(`${name}: its comment has no sentence`);
  const oneLine = (text) => text.replaceAll(/\s+/g, ' ');
  // Like the tables written by hand: no capital letter but in abbreviations.
  const consequence = oneLine(beyond.comment).replace(/\.$/, '');
  return {
    what: oneLine(what),
    beyond: consequence.replace(/^[A-Z](?![A-Z])/, (c) => c.toLowerCase()),
  };
}

function format(value, what) {
  const number = typeof value === 'object' ? value.maxFields : value;
  const isBytes = /^bytes|in bytes/i.test(what);
  if (isBytes && number % 2 ** 20 === 0) return `${number / 2 ** 20} MiB`;
  if (isBytes && number % 1024 === 0) return `${number / 1024} KiB`;
  return number.toLocaleString('en-US');
}

/** The groups of a file, each with its heading and rows. */
function readGroups(file) {
  const text = readFileSync(join(root, file), 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const values = evaluate(text);
  const groups = [...text.matchAll(/^\/\/ # (.*)$/gm)].map(({ 1: title, index }) => ({
    title,
    index,
    rows: [],
  }));
  for (const statement of source.statements.filter(ts.isVariableStatement)) {
    const name = statement.declarationList.declarations[0].name.text;
    const row = describe(statement, name);
    if (row === undefined && file === LIBRARY)
      throw new Error(`${name}: its comment has no @beyond`);
    if (row === undefined) continue;
    const group = groups.findLast(({ index }) => index < statement.getStart());
    group.rows.push(`| ${row.what} | ${format(values[name], row.what)} | ${row.beyond} |`);
  }
  return groups;
}

const tables = FILES.flatMap(readGroups).map(({ title, rows }) =>
  [`### ${title}\n`, '| Limit | Value | Beyond it |', '| --- | --- | --- |', ...rows].join('\n'),
);
const path = join(root, PAGE);
const page = readFileSync(path, 'utf8');
const config = await prettier.resolveConfig(path);
const text = page.replace(
  MARK,
  (_all, begin, end) => `${begin}\n\n${tables.join('\n\n')}\n\n${end}`,
);
const formatted = await prettier.format(text, { ...config, parser: 'markdown' });
if (!process.argv.includes('--check')) writeFileSync(path, formatted);
else if (formatted !== page) {
  console.error(`${PAGE}: run npm run update -- limits`);
  process.exitCode = 1;
}
