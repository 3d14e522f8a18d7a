/** The package whose uses are found. */
export const OLD_PACKAGE = '@grpc/grpc-js-xds';
export const NEW_PACKAGE = 'grpc-xds';

/** The channel option with the bootstrap of one channel, there and here. */
export const OLD_OPTION = 'grpc.TEST_ONLY_DO_NOT_USE_IN_PROD.xds_bootstrap_config';
export const NEW_OPTION = 'grpc_xds.bootstrap';

/** Something to change in a text. */
export interface Finding {
  /** Index of its first character. */
  readonly start: number;
  readonly message: string;
  /** What the command changes itself. Without it, the message says what to do by hand. */
  readonly edit?: Edit;
  /** Whether the other package stays a dependency because of it. */
  readonly keepsPackage?: boolean;
}

/** A replacement of a part of a text. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Applies edits, none of which overlaps another. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  const fromTheEnd = [...edits].sort((a, b) => b.start - a.start);
  return fromTheEnd.reduce(
    (changed, edit) => changed.slice(0, edit.start) + edit.text + changed.slice(edit.end),
    text,
  );
}

/** A variable that means something else here. */
interface Variable {
  readonly name: string;
  readonly advice: string;
  /** The value with which it has no effect any more, so that its line in an `.env` file can go. */
  readonly needless?: string;
}

const VARIABLES: readonly Variable[] = [
  {
    name: 'GRPC_XDS_EXPERIMENTAL_FAULT_INJECTION',
    advice: '"false" only disables fault injection, no longer every HTTP filter',
  },
  {
    name: 'GRPC_EXPERIMENTAL_PICKFIRST_LB_CONFIG',
    advice: 'on by default: "true" has no effect any more',
    needless: 'true',
  },
  {
    name: 'GRPC_EXPERIMENTAL_XDS_WRR_LB',
    advice: 'on by default: "true" has no effect any more',
    needless: 'true',
  },
  {
    name: 'GRPC_XDS_EXPERIMENTAL_RBAC',
    advice:
      'not read: the RBAC filters of servers are always on, even where it was "false" or not set',
    needless: 'true',
  },
];

/** Flags that both packages read. There every value but "true" is false; here every value but "true" and "false" is the default. */
const FLAGS: readonly string[] = [
  'GRPC_XDS_EXPERIMENTAL_FAULT_INJECTION',
  'GRPC_EXPERIMENTAL_ENABLE_OUTLIER_DETECTION',
  'GRPC_XDS_EXPERIMENTAL_ENABLE_RETRY',
  'GRPC_EXPERIMENTAL_XDS_FEDERATION',
  'GRPC_EXPERIMENTAL_XDS_CUSTOM_LB_CONFIG',
  'GRPC_XDS_EXPERIMENTAL_ENABLE_RING_HASH',
  'GRPC_EXPERIMENTAL_XDS_DUALSTACK_ENDPOINTS',
  'GRPC_EXPERIMENTAL_PICKFIRST_LB_CONFIG',
  'GRPC_EXPERIMENTAL_XDS_WRR_LB',
];

const ASSIGNMENT = /\b(GRPC_\w+)['"]?\]?[^\S\n]*(?:[=:]|\n[^\S\n]*value:)[^\S\n]*['"]?([\w.-]*)/g;

/** Finds the variables in a text that mean something else here. In an `.env` file, a line without effect is removed. */
export function findVariables(text: string, isEnvFile: boolean): readonly Finding[] {
  const values = new Map(
    [...text.matchAll(ASSIGNMENT)].map(({ index, 2: value }) => [index, value] as const),
  );
  return [...text.matchAll(/\bGRPC_\w+/g)].flatMap(({ 0: name, index: start }) => {
    const value = values.get(start) ?? '';
    const variable = VARIABLES.find((each) => each.name === name);
    if (isOddValue(name, value)) {
      const message = `${name}: "${value}" was false there and is the default here; write true or false`;
      return [{ start, message }];
    }
    if (variable === undefined) return [];
    const message = `${name}: ${variable.advice}`;
    const isNeedless = isEnvFile && value === variable.needless;
    const edit = isNeedless ? lineAround(text, start) : undefined;
    return [edit === undefined ? { start, message } : { start, message, edit }];
  });
}

function isOddValue(name: string, value: string): boolean {
  return FLAGS.includes(name) && /^(?!(?:true|false)$)[\w.-]+$/.test(value);
}

/** The line of an assignment with its end, unless it is a comment. */
function lineAround(text: string, at: number): Edit | undefined {
  const start = text.lastIndexOf('\n', at) + 1;
  if (!/^[^\S\n]*(?:export\s+)?$/.test(text.slice(start, at))) return undefined;
  const lineEnd = text.indexOf('\n', at);
  return { start, end: lineEnd === -1 ? text.length : lineEnd + 1, text: '' };
}

/** Finds the names of the other package and of its option in a text that is not a program. */
export function findMentions(text: string): readonly Finding[] {
  const pattern = /@grpc\/grpc-js-xds|grpc\.TEST_ONLY_DO_NOT_USE_IN_PROD\.xds_bootstrap_config/g;
  return [...text.matchAll(pattern)].map(({ 0: name, index: start }) => ({
    start,
    message: `names ${name}: the name here is ${name === OLD_OPTION ? NEW_OPTION : NEW_PACKAGE}`,
  }));
}
