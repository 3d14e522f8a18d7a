import {
  NEW_OPTION,
  NEW_PACKAGE,
  OLD_OPTION,
  OLD_PACKAGE,
  SERVER_NAMES,
  type Finding,
} from './findings';
import { tokenize, type Token } from './tokens';

/** Longer type arguments are not read, so that the time stays in proportion to the source. */
const MAX_TYPE_TOKENS = 1000;

/** Functions whose argument is the name of a module, as the name before the parenthesis. */
const LOADERS: ReadonlySet<string> = new Set(['import', 'require', 'resolve']);
/** Those of test runners: `jest.mock`, `vi.mock`, `mock.module` of Node.js. */
const MOCKERS =
  /^(?:do|un|dont|set|unstable_)?mock(?:Module)?$|^unmock$|^module$|^(?:require|import)(?:Actual|Mock)$|^(?:create|gen)MockFromModule$/i;
/** Types in comments: those of JSDoc, and directives. */
const IN_COMMENT = /(?:\bimport\(\s*['"]|<reference\s+types=['"])(@grpc\/grpc-js-xds)['"]/g;

/** Finds what names the other package or its option in a program, in JavaScript or TypeScript. */
export function findInSource(text: string): readonly Finding[] {
  const tokens = tokenize(text);
  const code = tokens.filter(({ kind }) => kind !== 'comment');
  const usesServers = code.some(({ text: name }) => SERVER_NAMES.has(unquote(name)));
  return tokens
    .flatMap((token) => (token.kind === 'comment' ? findInComment(token) : []))
    .concat(
      code.flatMap((token, i) =>
        token.kind === 'string' ? findInString(code, i, token, usesServers) : [],
      ),
    );
}

function findInComment({ text, start }: Token): Finding[] {
  return [...text.matchAll(IN_COMMENT)].map((match) => {
    const at = start + match.index + match[0].length - 1 - OLD_PACKAGE.length;
    return rename(at, OLD_PACKAGE, NEW_PACKAGE);
  });
}

function rename(start: number, from: string, to: string): Finding {
  return {
    start,
    message: `${from} -> ${to}`,
    edit: { start, end: start + from.length, text: to },
  };
}

function findInString(
  code: readonly Token[],
  i: number,
  { text, start }: Token,
  usesServers: boolean,
): readonly Finding[] {
  const value = unquote(text);
  if (value === OLD_OPTION) return [rename(start + 1, OLD_OPTION, NEW_OPTION)];
  if (value === OLD_PACKAGE) return [findSpecifier(code, i, start, usesServers)];
  if (value.startsWith(`${OLD_PACKAGE}/`)) {
    const message = `${value}: a file inside of the other package, without a counterpart; ${NEW_PACKAGE} exports all that is public`;
    return [{ start, message, keepsPackage: true }];
  }
  if (!value.includes(OLD_PACKAGE) && !value.includes(OLD_OPTION)) return [];
  return [{ start, message: `a text with the old name: ${value.slice(0, 100)}` }];
}

/** Judges a text that is the name of the other package. */
function findSpecifier(
  code: readonly Token[],
  i: number,
  start: number,
  usesServers: boolean,
): Finding {
  if (!isModuleName(code, i)) {
    const message = `a text with the old name: write ${NEW_PACKAGE} if it is that of a module`;
    return { start, message };
  }
  const names = usesServers ? importedNames(code, i) : [];
  const others = names?.filter((name) => !SERVER_NAMES.has(name));
  const takesServers = names === undefined || others?.length !== names.length;
  if (!takesServers) return rename(start + 1, OLD_PACKAGE, NEW_PACKAGE);
  const rest = others === undefined || others.length === 0 ? 'everything else' : others.join(', ');
  const message = `XdsServer and XdsServerCredentials have no counterpart: import them from ${OLD_PACKAGE} alone, and ${rest} from ${NEW_PACKAGE}`;
  return { start, message, keepsPackage: true };
}

/** Whether the text at an index is the name of a module by what is before it. */
function isModuleName(code: readonly Token[], i: number): boolean {
  const before = code[i - 1];
  if (before?.kind === 'name') return before.text === 'from' || before.text === 'import';
  if (before?.text !== '(') return false;
  const callee = code[beforeTypeArguments(code, i - 2)];
  return callee?.kind === 'name' && (LOADERS.has(callee.text) || MOCKERS.test(callee.text));
}

/** The index of what is called, from that of the token before the parenthesis: `jest.mock<typeof import('a')>('a')`. */
function beforeTypeArguments(code: readonly Token[], i: number): number {
  if (code[i]?.text !== '>') return i;
  let depth = 0;
  for (let at = i; at >= Math.max(0, i - MAX_TYPE_TOKENS); at--) {
    const text = code[at]?.text;
    if (text === '>') depth++;
    if (text === '<' && --depth === 0) return at - 1;
  }
  return i;
}

/** The names that are taken out of the module by `{ a, b as c } from` or `{ a, b: c } = require(`, if it is one of them. */
function importedNames(code: readonly Token[], i: number): readonly string[] | undefined {
  let at = i - 1;
  if (code[at]?.text === '(') {
    at -= 2;
    if (code[at]?.text === 'await') at--;
    // `require('…').XdsServer` takes what is named behind it.
    if (code[i + 2]?.text === '.') return [code[i + 3]?.text ?? ''];
    if (code[at]?.text !== '=') return undefined;
  }
  at--;
  if (code[at]?.text !== '}') return undefined;
  const end = at;
  while (at > 0 && code[at]?.text !== '{') at--;
  // `import whole, { register } from '…'` takes the whole module too.
  if (code[at - 1]?.text === ',') return undefined;
  return namesOf(code.slice(at + 1, end));
}

/** The first name of each item of a list, without the word `type`. */
function namesOf(tokens: readonly Token[]): readonly string[] {
  return tokens.flatMap(({ kind, text }, i) => {
    const before = tokens[i - 1]?.text ?? ',';
    const isTyped = before === 'type' && (tokens[i - 2]?.text ?? ',') === ',';
    if (kind !== 'name' || (before !== ',' && !isTyped)) return [];
    const isModifier = text === 'type' && tokens[i + 1]?.kind === 'name';
    return isModifier && tokens[i + 1]?.text !== 'as' ? [] : [text];
  });
}

function unquote(text: string): string {
  return /^['"`]/.test(text) ? text.slice(1, -1) : text;
}
