import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import ts from 'typescript';
import type { MessageType } from '../../src/wire/protobuf/field-table';

const SRC = join(__dirname, '../../src');
const GENERATED = join(SRC, 'wire', 'generated');
/** What is done with the table of a type that is only written. */
const WRITES = new Set(['create', 'encode', 'fromPartial']);
/** Commands read the answers of servers that an operator names, each in a process of its own. */
const COMMANDS = 'cli';

/** Returns the full names of all messages that clients and servers read, those within others included. */
export function findReadTypes(types: ReadonlyMap<string, MessageType>): ReadonlySet<string> {
  const names = new Map([...types].map(([name, type]) => [type, name]));
  const found = new Set<MessageType>();
  for (const file of readdirSync(SRC, { recursive: true, encoding: 'utf8' })) {
    const [folder, inner] = file.split(sep);
    if (!file.endsWith('.ts') || inner === 'generated' || folder === COMMANDS) continue;
    for (const name of tablesReadIn(join(SRC, file))) {
      const type = types.get(name);
      if (type !== undefined) found.add(type);
    }
  }
  // A set is extended while it is walked.
  for (const { layout } of found) {
    for (const { type } of layout.fields) if (type !== undefined) found.add(type);
  }
  return new Set([...found].flatMap((type) => names.get(type) ?? []));
}

/** The full names of what a file imports of the generated code and uses for more than writing. */
function tablesReadIn(path: string): ReadonlySet<string> {
  const text = readFileSync(path, 'utf8');
  const read = new Set<string>();
  if (!text.includes('generated/')) return read;
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const imported = importsOf(source, path);
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isTypeNode(node)) return;
    if (ts.isIdentifier(node)) {
      const name = imported.get(node.text);
      if (name !== undefined && !isWritten(node)) read.add(name);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return read;
}

function isWritten({ parent }: ts.Identifier): boolean {
  return ts.isPropertyAccessExpression(parent) && WRITES.has(parent.name.text);
}

/** The full names of imported messages, by their names in the file. */
function importsOf(source: ts.SourceFile, path: string): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const statement of source.statements) {
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) {
      continue;
    }
    const file = relative(GENERATED, resolve(dirname(path), statement.moduleSpecifier.text));
    const bindings = statement.importClause?.namedBindings;
    if (file.startsWith('..') || bindings === undefined || !ts.isNamedImports(bindings)) continue;
    const packageName = file.split(sep).slice(0, -1).join('.');
    for (const { name, propertyName } of bindings.elements) {
      const exported = (propertyName ?? name).text.replaceAll('_', '.');
      names.set(name.text, `${packageName}.${exported}`);
    }
  }
  return names;
}
