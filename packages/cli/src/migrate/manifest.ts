import { NEW_PACKAGE, OLD_PACKAGE, type Edit, type Finding } from './findings';
import { tokenize, type Token } from './tokens';

const DEPENDENCIES: ReadonlySet<string> = new Set([
  'dependencies',
  'devDependencies',
  'optionalDependencies',
  'peerDependencies',
  'peerDependenciesMeta',
]);
const GRPC_JS = '@grpc/grpc-js';

/** A member of an object in the second level of `package.json`. */
interface Member {
  readonly object: string;
  readonly name: string;
  /** Index of the token of its name. */
  readonly index: number;
}

/** How a dependency is changed. */
export interface ManifestOptions {
  /** The version of this package. */
  readonly version: string;
  /** Whether the other package stays, because files inside of it are imported. */
  readonly keepsPackage: boolean;
}

/** Finds what to change in the text of a `package.json`. */
export function findInManifest(text: string, options: ManifestOptions): readonly Finding[] {
  const code = tokenize(text);
  const members = membersOf(code);
  const old = members.filter(isOldDependency);
  const starts = new Set(old.map(({ index }) => code[index]?.start));
  const mentions = code.filter(
    ({ kind, text: raw, start }) =>
      kind === 'string' && raw.includes(OLD_PACKAGE) && !starts.has(start),
  );
  return [
    ...old.map((member) => replaceDependency(code, members, member, options)),
    ...(old.length > 0 ? findOldGrpc(code, members) : []),
    ...mentions.map(({ text: raw, start }) => ({
      start,
      message: `names ${OLD_PACKAGE}: ${raw.slice(0, 100)}`,
    })),
  ];
}

function isOldDependency({ object, name }: Member): boolean {
  return name === OLD_PACKAGE && DEPENDENCIES.has(object);
}

/** The members of the objects that are members of the root. */
function membersOf(code: readonly Token[]): readonly Member[] {
  const found: Member[] = [];
  const names: string[] = [];
  let name = '';
  for (const [index, { kind, text }] of code.entries()) {
    if (kind === 'string' && code[index + 1]?.text === ':') {
      name = text.slice(1, -1);
      if (names.length === 2) found.push({ object: names[1] ?? '', name, index });
    }
    if (text === '{' || text === '[') names.push(name);
    if (text === '}' || text === ']') names.pop();
  }
  return found;
}

function replaceDependency(
  code: readonly Token[],
  members: readonly Member[],
  { object, index }: Member,
  { version, keepsPackage }: ManifestOptions,
): Finding {
  const start = code[index]?.start ?? 0;
  const isThere = members.some((each) => each.object === object && each.name === NEW_PACKAGE);
  const range = object === 'peerDependenciesMeta' ? undefined : `"^${version}"`;
  if (keepsPackage) {
    const message = `${object}: ${OLD_PACKAGE} stays, for what has no counterpart`;
    if (isThere || range === undefined) return { start, message };
    const text = `"${NEW_PACKAGE}": ${range}, `;
    return {
      start,
      message: `${object}: ${NEW_PACKAGE} beside ${OLD_PACKAGE}`,
      edit: { start, end: start, text },
    };
  }
  if (isThere)
    return { start, message: `${object}: without ${OLD_PACKAGE}`, edit: removal(code, index) };
  const value = code[index + 2];
  const name = code[index]?.text.length ?? 0;
  const end = range === undefined || value === undefined ? start + name : endOf(value);
  const text = range === undefined ? `"${NEW_PACKAGE}"` : `"${NEW_PACKAGE}": ${range}`;
  return {
    start,
    message: `${object}: ${OLD_PACKAGE} -> ${NEW_PACKAGE}`,
    edit: { start, end, text },
  };
}

/** Removes a member with the comma that separates it from its neighbour. */
function removal(code: readonly Token[], index: number): Edit {
  const last = lastOfValue(code, index + 2);
  const start = code[index]?.start ?? 0;
  const after = code[last + 1];
  if (after?.text === ',') return { start, end: code[last + 2]?.start ?? start, text: '' };
  const before = code[index - 1];
  const from = before?.text === ',' ? before.start : start;
  return { start: from, end: endOf(code[last]), text: '' };
}

/** The index of the last token of a value, which may be an object. */
function lastOfValue(code: readonly Token[], index: number): number {
  let depth = 0;
  for (let at = index; at < code.length; at++) {
    const text = code[at]?.text ?? '';
    if (text === '{' || text === '[') depth++;
    if (text === '}' || text === ']') depth--;
    if (depth === 0) return at;
  }
  return index;
}

function endOf(token: Token | undefined): number {
  return token === undefined ? 0 : token.start + token.text.length;
}

/** A range of grpc-js that has no 1.14. */
function findOldGrpc(code: readonly Token[], members: readonly Member[]): readonly Finding[] {
  return members.flatMap(({ object, name, index }) => {
    if (name !== GRPC_JS || !DEPENDENCIES.has(object)) return [];
    const range = code[index + 2]?.text.slice(1, -1) ?? '';
    const [, sign, major, minor] = /^([\^~]?)v?(\d+)\.(\d+)/.exec(range) ?? [];
    const isCaret = sign === '^' && major === '1' && Number(minor) <= 14;
    if (major === undefined || isCaret || (major === '1' && minor === '14')) return [];
    const message = `${object}: ${GRPC_JS} ${range} does not contain 1.14, which ${NEW_PACKAGE} needs: write ~1.14.0`;
    return [{ start: code[index]?.start ?? 0, message }];
  });
}
