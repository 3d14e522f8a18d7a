// How much code there is, by folder: lines with something else on them than comments and imports.
import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import ts from 'typescript';

const isImport = (node) =>
  ts.isImportDeclaration(node) ||
  (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined);

/** Whether the work of a function can be interrupted. One that lists things by `yield` is none. */
function isStepped(node) {
  if (!ts.isFunctionLike(node)) return false;
  const type = node.type?.getText() ?? '';
  return /^(Steps|Generator)\b/.test(type) || (node.asteriskToken && !/^Iterable/.test(type));
}

/** @returns the lines and characters of code of a file, and whether a function in it goes in steps. */
function measureFile(path) {
  const text = readFileSync(path, 'utf8');
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const used = new Set();
  let hasSteps = false;
  const visit = (node) => {
    if (isImport(node)) return;
    if (isStepped(node)) hasSteps = true;
    const children = node.getChildren(source).filter((child) => !ts.isJSDoc(child));
    for (const child of children) visit(child);
    if (children.length > 0 || node.getWidth(source) === 0) return;
    const { line: first } = source.getLineAndCharacterOfPosition(node.getStart(source));
    const { line: last } = source.getLineAndCharacterOfPosition(node.getEnd());
    for (let line = first; line <= last; line++) used.add(line);
  };
  visit(source);
  const lines = text.split('\n');
  const characters = [...used].reduce((sum, line) => sum + lines[line].trim().length, 0);
  return { lines: used.size, characters, hasSteps };
}

/** @returns what the code of a folder amounts to, with the lines of each folder and file that is right in it. */
export function measureCode(root, folder) {
  const totals = { lines: 0, characters: 0, steppedFiles: 0, folders: {} };
  for (const entry of readdirSync(join(root, folder), { recursive: true })) {
    if (!/\.(ts|js|css)$/.test(entry) || /(^|[\\/])generated[\\/]/.test(entry)) continue;
    const { lines, characters, hasSteps } = measureFile(join(root, folder, entry));
    totals.lines += lines;
    totals.characters += characters;
    totals.steppedFiles += hasSteps ? 1 : 0;
    const name = entry.split(sep)[0].replace(/\.ts$/, '');
    totals.folders[name] = (totals.folders[name] ?? 0) + lines;
  }
  return totals;
}
