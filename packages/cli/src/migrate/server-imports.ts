import { NEW_PACKAGE, OLD_PACKAGE, type Finding } from './findings';
import type { Token } from './tokens';

/** What the other package exports for servers: here it is in an entry of its own. */
const SERVER_NAMES: ReadonlySet<string> = new Set(['XdsServer', 'XdsServerCredentials']);
const SERVER_ENTRY = `${NEW_PACKAGE}/server`;

/** The words with which the statements begin that are changed. */
const HEADS: ReadonlySet<string> = new Set(['import', 'export', 'const', 'let', 'var']);
const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|\[::1\]):\d+$/;

/** A program with its tokens, comments left out. */
export interface Program {
  readonly text: string;
  readonly code: readonly Token[];
  /** As the first line ends. */
  readonly lineEnd: '\n' | '\r\n';
  /** The indices of the tokens that are a name. */
  readonly positions: ReadonlyMap<string, readonly number[]>;
}

/** What a statement takes out of a module, with indices of tokens. */
type Taken =
  | { readonly kind: 'nothing' | 'unknown' }
  | { readonly kind: 'member'; readonly name: string }
  | Statement<'list'>
  | Statement<'whole'>;

/** A statement that binds names, such as `import { a, b as c } from 'm'` (a list) or `const m = require('m')` (the whole). */
interface Statement<Kind extends string> {
  readonly kind: Kind;
  readonly head: number;
  /** The first and the last token of what is bound: the braces of a list. */
  readonly open: number;
  readonly close: number;
  readonly specifier: number;
  readonly end: number;
}

/** An item of a list. */
interface Item {
  /** In the module. */
  readonly name: string;
  readonly text: string;
}

/** Makes a program of its text and its tokens. */
export function createProgram(text: string, code: readonly Token[]): Program {
  const positions = new Map<string, number[]>();
  for (const [i, { text: name }] of code.entries()) {
    const known = positions.get(name);
    if (known === undefined) positions.set(name, [i]);
    else known.push(i);
  }
  const lineEnd = /^[^\n]*\r\n/.test(text) ? '\r\n' : '\n';
  return { text, code, lineEnd, positions };
}

/** Whether a program names what is for servers. */
export function usesServers({ code }: Program): boolean {
  return code.some(({ text }) => SERVER_NAMES.has(unquote(text)));
}

/** Returns the module that has a name here. */
export function moduleOf(name: string): string {
  return SERVER_NAMES.has(name) ? SERVER_ENTRY : NEW_PACKAGE;
}

/**
 * Finds what to change where a program that has servers names the other package: its names for servers are in `grpc-xds/server`,
 * all others in `grpc-xds`.
 *
 * @param specifier The index of the name of the module.
 */
export function findServerImport(program: Program, specifier: number): readonly Finding[] {
  const { code } = program;
  const taken = readTaken(code, specifier);
  switch (taken.kind) {
    case 'nothing':
      return [renameTo(code, specifier, NEW_PACKAGE)];
    case 'member':
      return [renameTo(code, specifier, moduleOf(taken.name))];
    case 'list':
      return changeList(program, taken);
    case 'whole':
      return changeWhole(program, taken);
    case 'unknown':
      return [byHand(code, specifier)];
  }
}

/** Finds servers that are bound to a loopback address, which the other package did not heed. */
export function findLoopback({ code }: Program): readonly Finding[] {
  return code.flatMap(({ kind, text, start }, i) => {
    const isArgument = code[i - 1]?.text === '(' && code[i - 2]?.text === 'bindAsync';
    if (kind !== 'string' || !isArgument || !LOOPBACK.test(unquote(text))) return [];
    const message = `bindAsync(${text}): ${OLD_PACKAGE} listened on all addresses of the host, an XdsServer of ${NEW_PACKAGE} only listens on this one: write 0.0.0.0 or [::] if clients of other hosts call it`;
    return [{ start, message }];
  });
}

function renameTo(code: readonly Token[], specifier: number, name: string): Finding {
  const start = (code[specifier]?.start ?? 0) + 1;
  const edit = { start, end: start + OLD_PACKAGE.length, text: name };
  return { start, message: `${OLD_PACKAGE} -> ${name}`, edit };
}

function byHand(code: readonly Token[], specifier: number): Finding {
  const names = [...SERVER_NAMES].join(' and ');
  const message = `${names} are in ${SERVER_ENTRY}: take them from there, and everything else from ${NEW_PACKAGE}`;
  return { start: code[specifier]?.start ?? 0, message };
}

function readTaken(code: readonly Token[], specifier: number): Taken {
  const textAt = (i: number) => code[i]?.text ?? '';
  if (textAt(specifier - 1) === 'import') return { kind: 'nothing' };
  if (textAt(specifier - 1) === 'from') {
    return readStatement(code, specifier - 2, { specifier, end: specifier });
  }
  let at = specifier - 2;
  if (textAt(at) !== 'require' && textAt(at) !== 'import') return { kind: 'unknown' };
  let end = specifier + 1;
  if (textAt(at - 1) === 'await') {
    at--;
    // `(await import('m')).name` takes what is named behind it.
    if (textAt(at - 1) === '(' && textAt(end + 1) === ')') end++;
  }
  if (textAt(end + 1) === '.') {
    const name = textAt(end + 2);
    return name === 'then' ? { kind: 'unknown' } : { kind: 'member', name };
  }
  if (textAt(at - 1) !== '=') return { kind: 'unknown' };
  return readStatement(code, at - 2, { specifier, end });
}

/** Reads a statement by the last token of what it binds. */
function readStatement(
  code: readonly Token[],
  close: number,
  rest: Pick<Statement<string>, 'specifier' | 'end'>,
): Taken {
  const last = code[close];
  const isList = last?.text === '}';
  const open = isList ? openingOf(code, close) : close;
  // A list within a list is none of names.
  const isBound = isList ? code[open]?.text === '{' : last?.kind === 'name';
  if (!isBound) return { kind: 'unknown' };
  const head = headBefore(code, open);
  const word = code[head]?.text ?? '';
  // `export * as name from 'm'` hands on what is not known.
  if (!HEADS.has(word) || (!isList && word === 'export')) return { kind: 'unknown' };
  return { head, open, close, ...rest, kind: isList ? 'list' : 'whole' };
}

/** Returns the index of the brace before a closing one; -1 if there is none. */
function openingOf(code: readonly Token[], close: number): number {
  let open = close - 1;
  while (open >= 0 && !/^[{}]$/.test(code[open]?.text ?? '')) open--;
  return open;
}

/** Returns the index of the word that begins a statement, by that of what it binds. */
function headBefore(code: readonly Token[], open: number): number {
  let head = open - 1;
  if (code[head]?.text === 'as' && code[head - 1]?.text === '*') head -= 2;
  if (code[head]?.text === 'type') head--;
  return head;
}

function changeList(program: Program, statement: Statement<'list'>): readonly Finding[] {
  const { code } = program;
  const items = itemsOf(program, statement);
  if (items === undefined) return [byHand(code, statement.specifier)];
  const textsOf = (module: string) =>
    items.filter(({ name }) => moduleOf(name) === module).map(({ text }) => text);
  const others = textsOf(NEW_PACKAGE);
  const servers = textsOf(SERVER_ENTRY);
  if (servers.length === 0) return [renameTo(code, statement.specifier, NEW_PACKAGE)];
  if (others.length === 0) return [renameTo(code, statement.specifier, SERVER_ENTRY)];
  const list = (texts: readonly string[]) => `{ ${texts.join(', ')} }`;
  return [split(program, statement, list(others), list(servers))];
}

/** The items of a list; `undefined` if it has comments, or what is not a name. */
function itemsOf(
  { text, code }: Program,
  { open, close }: Statement<'list'>,
): readonly Item[] | undefined {
  const items: Item[] = [];
  for (let at = open + 1; at < close; at++) {
    const first = at;
    while (at < close && code[at]?.text !== ',') at++;
    const name = nameOf(code.slice(first, at));
    if (name === undefined) return undefined;
    const item = text.slice(code[first]?.start, endOf(code[at - 1]));
    items.push({ name, text: item });
  }
  const list = text.slice(endOf(code[open]), code[close]?.start);
  return /\/[/*]/.test(list) ? undefined : items;
}

function nameOf([first, second]: readonly Token[]): string | undefined {
  if (first?.kind !== 'name') return undefined;
  const isModifier = first.text === 'type' && second?.kind === 'name' && second.text !== 'as';
  return isModifier ? second.text : first.text;
}

/** Changes `xds.XdsServer` to a name of the new entry, where the whole module has a name. */
function changeWhole(program: Program, statement: Statement<'whole'>): readonly Finding[] {
  const { code, positions } = program;
  const name = code[statement.open]?.text ?? '';
  const isMention = (i: number) => i !== statement.open && code[i - 1]?.text !== '.';
  const all = positions.get(name) ?? [];
  const isOdd = all.some((i) => isMention(i) && code[i + 1]?.text !== '.');
  if (isOdd || positions.has(`${name}Server`)) return [byHand(code, statement.specifier)];
  const mentions = all.filter(isMention);
  const uses = mentions.filter((i) => SERVER_NAMES.has(code[i + 2]?.text ?? ''));
  if (uses.length === 0) return [renameTo(code, statement.specifier, NEW_PACKAGE)];
  if (uses.length === mentions.length) return [renameTo(code, statement.specifier, SERVER_ENTRY)];
  return [
    split(program, statement, name, `${name}Server`),
    ...uses.map((i) => {
      const start = code[i]?.start ?? 0;
      const member = code[i + 2]?.text ?? '';
      const edit = { start, end: start + name.length, text: `${name}Server` };
      return { start, message: `${name}.${member} -> ${name}Server.${member}`, edit };
    }),
  ];
}

/** Makes two statements of one, which bind something else of different modules. */
function split(
  { text, code, lineEnd }: Program,
  { head, open, close, specifier, end }: Statement<string>,
  own: string,
  ofServers: string,
): Finding {
  const start = code[head]?.start ?? 0;
  const name = (code[specifier]?.start ?? 0) + 1;
  const stop = endOf(code[end]);
  const write = (bound: string, module: string) =>
    text.slice(start, code[open]?.start) +
    bound +
    text.slice(endOf(code[close]), name) +
    module +
    text.slice(name + OLD_PACKAGE.length, stop);
  const semicolon = code[end + 1]?.text === ';' ? ';' : '';
  const statements = [write(own, NEW_PACKAGE), write(ofServers, SERVER_ENTRY)];
  return {
    start: name,
    message: `${OLD_PACKAGE} -> ${NEW_PACKAGE} and ${SERVER_ENTRY}`,
    edit: {
      start,
      end: stop,
      text: statements.join(semicolon + lineEnd + indentBefore(text, start)),
    },
  };
}

/** Returns the blanks before a statement, if it is the first one of its line. */
function indentBefore(text: string, start: number): string {
  let at = start;
  while (/[ \t]/.test(text.charAt(at - 1))) at--;
  return at === 0 || text.charAt(at - 1) === '\n' ? text.slice(at, start) : '';
}

function endOf(token: Token | undefined): number {
  return token === undefined ? 0 : token.start + token.text.length;
}

function unquote(text: string): string {
  return /^['"`]/.test(text) ? text.slice(1, -1) : text;
}
