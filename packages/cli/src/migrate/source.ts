import { NEW_OPTION, NEW_PACKAGE, OLD_OPTION, OLD_PACKAGE, type Finding } from './findings';
import {
  createProgram,
  findLoopback,
  findServerImport,
  moduleOf,
  usesServers,
  type Program,
} from './server-imports';
import { tokenize, type Token } from './tokens';

/** Longer type arguments are not read, so that the time stays in proportion to the source. */
const MAX_TYPE_TOKENS = 1000;

/** Functions whose argument is the name of a module, as the name before the parenthesis. */
const LOADERS: ReadonlySet<string> = new Set(['import', 'require', 'resolve']);
/** Those of test runners: `jest.mock`, `vi.mock`, `mock.module` of Node.js. */
const MOCKERS =
  /^(?:do|un|dont|set|unstable_)?mock(?:Module)?$|^unmock$|^module$|^(?:require|import)(?:Actual|Mock)$|^(?:create|gen)MockFromModule$/i;
/** Types in comments: those of JSDoc, and directives. */
const IN_COMMENT =
  /(?:\bimport\(\s*['"]|<reference\s+types=['"])(@grpc\/grpc-js-xds)['"](?:\s*\)\s*\.\s*(\w+))?/g;

/** Finds what names the other package or its option in a program, in JavaScript or TypeScript. */
export function findInSource(text: string): readonly Finding[] {
  const tokens = tokenize(text);
  const code = tokens.filter(({ kind }) => kind !== 'comment');
  const program = createProgram(text, code);
  const namesPackage = code.some((token) => unquote(token.text) === OLD_PACKAGE);
  const isServer = namesPackage && usesServers(program);
  return [
    ...tokens.flatMap((token) => (token.kind === 'comment' ? findInComment(token) : [])),
    ...code.flatMap((token, i) =>
      token.kind === 'string' ? findInString(program, i, token, isServer) : [],
    ),
    ...(isServer ? findLoopback(program) : []),
  ];
}

function findInComment({ text, start }: Token): Finding[] {
  return [...text.matchAll(IN_COMMENT)].map((match) => {
    const at = start + match.index + match[0].indexOf(OLD_PACKAGE);
    return rename(at, OLD_PACKAGE, moduleOf(match[2] ?? ''));
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
  program: Program,
  i: number,
  { text, start }: Token,
  isServer: boolean,
): readonly Finding[] {
  const value = unquote(text);
  if (value === OLD_OPTION) return [rename(start + 1, OLD_OPTION, NEW_OPTION)];
  if (value === OLD_PACKAGE) return findSpecifier(program, i, start, isServer);
  if (value.startsWith(`${OLD_PACKAGE}/`)) {
    const message = `${value}: a file inside of the other package, without a counterpart; ${NEW_PACKAGE} exports all that is public`;
    return [{ start, message, keepsPackage: true }];
  }
  if (!value.includes(OLD_PACKAGE) && !value.includes(OLD_OPTION)) return [];
  return [{ start, message: `a text with the old name: ${value.slice(0, 100)}` }];
}

/** Judges a text that is the name of the other package. */
function findSpecifier(
  program: Program,
  i: number,
  start: number,
  isServer: boolean,
): readonly Finding[] {
  if (!isModuleName(program.code, i)) {
    const message = `a text with the old name: write ${NEW_PACKAGE} if it is that of a module`;
    return [{ start, message }];
  }
  return isServer ? findServerImport(program, i) : [rename(start + 1, OLD_PACKAGE, NEW_PACKAGE)];
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

function unquote(text: string): string {
  return /^['"`]/.test(text) ? text.slice(1, -1) : text;
}
