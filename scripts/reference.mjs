// Writes the API reference in docs/reference/api from the declarations in dist/, which have the doc comments, and the lists
// of reference-lists.mjs.
//
//   npm run update -- reference         writes the pages
//   npm run check -- reference   fails when they lag behind the declarations
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import * as prettier from 'prettier';
import ts from 'typescript';
import { packages, root } from './packages.mjs';
import { renderLists } from './reference-lists.mjs';

const FOLDER = 'docs/reference/api';

/** What programs use from their start to their end: everything else is for a purpose of its own. */
const FIRST = [
  'register',
  'ready',
  'inspect',
  'shutdown',
  'XdsServer',
  'createXdsServerCredentials',
];

const SECTIONS = [
  ['Functions', ts.isFunctionDeclaration],
  ['Classes', ts.isClassDeclaration],
  ['Constants', ts.isVariableStatement],
  ['Types', (node) => ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)],
];

/** An entry of a package: its exported declarations, and the description of the module. */
function readEntry(pkg, { path, types }) {
  const name =
    path === '.' ? (pkg.folder === '.' ? pkg.name : basename(pkg.folder)) : path.slice(2);
  const text = readFileSync(join(root, pkg.folder, types), 'utf8');
  const source = ts.createSourceFile(types, text, ts.ScriptTarget.Latest, true);
  const isExported = (node) =>
    node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
  const declarations = source.statements
    .filter((node) => isExported(node) && !ts.isModuleDeclaration(node))
    .map((node) => ({ node, name: nameOf(node) }))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const specifier = path === '.' ? pkg.name : `${pkg.name}/${name}`;
  const [, description = ''] = /^\/\*\*([^]*?)@packageDocumentation/.exec(text) ?? [];
  return {
    name,
    specifier,
    source,
    declarations,
    about: description.replace(/^ *\* ?/gm, '').trim(),
  };
}

function nameOf(node) {
  return ts.isVariableStatement(node)
    ? node.declarationList.declarations[0].name.text
    : node.name.text;
}

/** Lists the names that come first, each with the first sentence about it. */
function introduce(entries) {
  return FIRST.map((name) => {
    const entry = entries.find(({ declarations }) =>
      declarations.some((each) => each.name === name),
    );
    if (entry === undefined) throw new Error(`${name} is not exported`);
    const { node } = entry.declarations.find((each) => each.name === name);
    const [sentence] = commentOf(docOf(node)?.comment).split(/(?<=\.)\s/);
    const title = ts.isFunctionDeclaration(node) ? `${name}()` : name;
    return `- {@link ${name} | ${title}} of \`${entry.specifier}\`: ${sentence.replaceAll(/\s+/g, ' ')}`;
  });
}

/** Finds the page and the heading of a name. */
function createLinks(entries) {
  const places = new Map();
  for (const { name: entry, declarations } of entries) {
    for (const { name } of declarations) if (!places.has(name)) places.set(name, entry);
  }
  return (text, entry) =>
    text.replace(/\{@link\s+([\w.]+)\s*(?:\|\s*([^}]*))?\}/g, (_tag, name, label = name) => {
      const place = places.get(name.split('.')[0]);
      if (place === undefined) return `\`${label}\``;
      const page = place === entry ? '' : `${place}.md`;
      return `[\`${label}\`](${page}#${name.split('.')[0].toLowerCase()})`;
    });
}

const commentOf = (comment) => ts.getTextOfJSDocComment(comment)?.trim() ?? '';
const docOf = (node) => node.jsDoc?.at(-1);
const tagsOf = (node, ...names) =>
  (docOf(node)?.tags ?? []).filter(({ tagName }) => names.includes(tagName.text));

/** A declaration without its comments. */
function signatureOf(node, source) {
  const printer = ts.createPrinter({ removeComments: true });
  const bare = ts.isClassDeclaration(node)
    ? ts.factory.updateClassDeclaration(
        node,
        node.modifiers,
        node.name,
        node.typeParameters,
        node.heritageClauses,
        [],
      )
    : ts.isInterfaceDeclaration(node)
      ? ts.factory.updateInterfaceDeclaration(
          node,
          node.modifiers,
          node.name,
          node.typeParameters,
          node.heritageClauses,
          [],
        )
      : node;
  const text = printer.printNode(ts.EmitHint.Unspecified, bare, source);
  return text.replace(/^export declare /, '').replace(/ \{\s*\}$/, '');
}

const memberText = (member, source) =>
  ts
    .createPrinter({ removeComments: true })
    .printNode(ts.EmitHint.Unspecified, member, source)
    .replace(/\s+/g, ' ')
    .replace(/;$/, '');

const isPrivate = (member) =>
  member.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword) === true ||
  member.name?.text?.startsWith('_') === true;

/** The values of a union of texts, each with what its comment says. */
function valuesOf(node, source) {
  const types = node.type !== undefined && ts.isUnionTypeNode(node.type) ? node.type.types : [];
  return types.flatMap((type, i) => {
    // The comment is before the bar, which is part of neither type.
    const start = types[i - 1]?.end ?? type.pos;
    const text = source.text.slice(start, type.getStart(source));
    const [, comment] = /\/\*\*([^]*?)\*\//.exec(text) ?? [];
    if (comment === undefined) return [];
    return [`- \`${type.getText(source)}\`: ${comment.replace(/\s*\n\s*\* ?/g, ' ').trim()}`];
  });
}

/** The members of a type, each with what its comment says. */
function membersOf(node, source) {
  const members =
    node.members ??
    (node.type !== undefined && ts.isTypeLiteralNode(node.type) ? node.type.members : []);
  return members
    .filter((member) => !isPrivate(member))
    .flatMap((member) => [
      `- \`\`${memberText(member, source)}\`\`${indent(describe(member))}`,
      ...tagsOf(member, 'example').map((tag) => `\n${indentLines(commentOf(tag.comment))}\n`),
    ]);
}

const indentLines = (text) => text.replace(/^(?=.)/gm, '  ');
const indent = (text) => (text === '' ? '' : `  \n${indentLines(text)}`);

/** The comment of a member with what it returns and throws, in one paragraph. */
function describe(member) {
  const parts = tagsOf(member, 'param', 'returns', 'throws').map((tag) => tagText(tag));
  return [commentOf(docOf(member)?.comment), ...parts].filter((text) => text !== '').join('\n\n');
}

function tagText({ tagName, name, comment }) {
  const text = commentOf(comment).replace(/^- /, '');
  if (tagName.text === 'param') return text === '' ? '' : `\`${name.getText()}\`: ${text}`;
  return `${tagName.text === 'returns' ? 'Returns' : 'Throws'} ${text}`;
}

function render({ node, name }, source) {
  const title = ts.isFunctionDeclaration(node) ? `${name}()` : name;
  const tags = tagsOf(node, 'param', 'returns', 'throws').map(tagText);
  const members = [...membersOf(node, source), ...valuesOf(node, source)];
  return [
    `### ${title}`,
    commentOf(docOf(node)?.comment),
    `\`\`\`tsx\n${signatureOf(node, source)}\n\`\`\``,
    ...tags,
    ...tagsOf(node, 'example').map(({ comment }) => commentOf(comment)),
    members.join('\n'),
  ].filter((part) => part !== '');
}

function renderEntry({ specifier, about, source, declarations }) {
  const sections = SECTIONS.flatMap(([title, isOfKind]) => {
    const chosen = declarations.filter(({ node }) => isOfKind(node));
    return chosen.length === 0
      ? []
      : [`## ${title}`, ...chosen.flatMap((each) => render(each, source))];
  });
  return [`# ${specifier}`, about, ...sections].join('\n\n');
}

async function main(isCheck) {
  const entries = packages.flatMap((pkg) =>
    pkg.entries.filter(({ types }) => types !== undefined).map((entry) => readEntry(pkg, entry)),
  );
  const link = createLinks(entries);
  const contents = entries.map(
    ({ name, specifier, declarations }) =>
      `- [${specifier}](${name}.md): ${declarations.length} exports`,
  );
  const apiPages = [
    [
      'README',
      [
        '# API',
        'Every program calls `register()` before its first channel; most wait until they can send calls, look at their state when ' +
          'something is wrong, and report their last loads at the end. Servers that a control plane configures need two more:',
        link(introduce(entries).join('\n'), 'README'),
        '## Entries',
        'Made from the doc comments of the declarations, which editors show too.',
        contents.join('\n'),
      ].join('\n\n'),
    ],
    ...entries.map((entry) => [entry.name, link(renderEntry(entry), entry.name)]),
  ];
  const pages = [
    ...apiPages.map(([name, text]) => [`${FOLDER}/${name}.md`, text]),
    ...renderLists().map(([name, text]) => [`docs/reference/${name}.md`, text]),
  ];
  const lagging = [];
  const config = await prettier.resolveConfig(join(root, FOLDER, 'a.md'));
  if (!isCheck) rmSync(join(root, FOLDER), { recursive: true, force: true });
  for (const [name, text] of pages) {
    const path = join(root, name);
    const formatted = await prettier.format(text, { ...config, parser: 'markdown' });
    mkdirSync(dirname(path), { recursive: true });
    if (!isCheck) writeFileSync(path, formatted);
    else if (read(path) !== formatted) lagging.push(name);
  }
  if (lagging.length > 0) console.error(`${lagging.join(', ')}: run npm run update -- reference`);
  process.exitCode = lagging.length > 0 ? 1 : 0;
}

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

await main(process.argv.includes('--check'));
