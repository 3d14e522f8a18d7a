import type * as Client from './client';
import { styleText } from 'node:util';
import { keepProcessAlive, type Clock } from '../../../src/util/clock';
import type { Handle } from '../../../src/util/handle';
import { cutText } from '../../../src/util/text';
import { formatYaml } from 'grpc-xds/internal';
import { lazy } from '../../../src/util/lazy';

/** Characters. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** Receives what a user does with a screen. */
export interface ScreenListener {
  onKey(key: string): void;
  onResize(): void;
}

/** The terminal, signals, environment and clock of a command. */
export interface CliIo {
  /** Writes a line to the standard output, as `formatLine` does. */
  print(line: Line): void;
  /** Writes a text with lines of its own, as `formatDocument` does: JSON, YAML, the help. */
  printDocument(text: string): void;
  /** Writes a line about an error, as `formatLine` does. */
  printError(line: Line): void;
  /** Replaces what the terminal shows. */
  redraw(lines: readonly Line[]): void;
  /** Calls back on SIGINT and SIGTERM. */
  onInterrupt(callback: () => void): Handle;
  /** Whether the standard output is a terminal. */
  readonly isTerminal: boolean;
  /** The size of the terminal; `undefined` if the standard output is none. */
  readonly size: TerminalSize | undefined;
  /** The standard input, for the file name `-`. */
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Shows a screen of its own until the handle is released, and calls back when the size changes or a key is pressed. */
  openScreen(listener: ScreenListener): Handle;
  /** The environment variables, as in `process.env`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** As in `process.versions.node`. */
  readonly nodeVersion: string;
  /** The folder of the application that is examined. */
  readonly folder: string;
  /** The folder of this package, which has the folder `examples`. */
  readonly packageFolder: string;
  readonly clock: Clock;
}

export { exitCode } from './exit-codes';

/**
 * Waits for SIGINT or SIGTERM, or for the end of what the command does. It keeps the process alive until then: listeners of
 * signals do not, nor does a server that is served for an application.
 *
 * @param ended Is fulfilled when the command is over by itself. Default: only an interrupt ends it.
 * @returns what `ended` was fulfilled with; `undefined` after an interrupt.
 */
export async function untilInterrupted<T = undefined>(
  io: Pick<CliIo, 'onInterrupt' | 'clock'>,
  ended?: Promise<T>,
): Promise<T | undefined> {
  const alive = keepProcessAlive(io.clock);
  let interrupt: Handle | undefined;
  const interrupted = new Promise<undefined>((resolve) => {
    interrupt = io.onInterrupt(() => resolve(undefined));
  });
  try {
    return await (ended === undefined ? interrupted : Promise.race([interrupted, ended]));
  } finally {
    interrupt?.release();
    alive.release();
  }
}

/** Writes the lines of an error that lists several problems. */
export function printErrors(lines: readonly string[], io: Pick<CliIo, 'printError'>): void {
  for (const line of lines) io.printError(line);
}

/** A colour of the terminal. */
export type Color = 'red' | 'green' | 'yellow' | 'gray' | 'cyan' | 'bold';

/** A part of a line in a colour. */
export interface Span {
  /** Default: none. */
  readonly color?: Color;
  readonly text: string;
}

/** One line of output. Colours are apart from the text, which may be that of a server, a client or a file. */
export type Line = string | readonly (string | Span)[];

/** Characters of a part of a line. */
const MAX_LENGTH = 16_384;
/** Characters of a cell of a table. */
const MAX_CELL_LENGTH = 1024;

/** Control characters, invisible format characters such as those that reverse text, lone surrogates, line separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const UNPRINTABLE_IN_LINES = /[\p{Cf}\p{Cs}\p{Zl}\p{Zp}\x00-\x09\x0b-\x1f\x7f-\x9f]/gu; // eslint-disable-line no-control-regex -- those are meant

/**
 * Formats a line for the terminal: every text in it is cut, and its line feeds and control characters are escaped, because it
 * could forge a line or move the cursor otherwise. The escapes are those of JSON.
 */
export function formatLine(line: Line): string {
  return typeof line === 'string' ? cleanText(line) : line.map(formatPart).join('');
}

/** Formats a document with lines of its own, such as JSON: it is not cut, and its line feeds are kept. */
export function formatDocument(text: string): string {
  return text.replace(UNPRINTABLE_IN_LINES, escapeCharacter);
}

/** Cuts and escapes the text of a cell, whose width is that of its column. */
function cellText(text: string): string {
  return cleanText(text, MAX_CELL_LENGTH);
}

function formatPart(part: string | Span): string {
  if (typeof part === 'string') return cleanText(part);
  const text = cleanText(part.text);
  return part.color === undefined ? text : styleText(part.color, text, { validateStream: false });
}

function cleanText(text: string, maxLength = MAX_LENGTH): string {
  return cutText(text, maxLength).replace(UNPRINTABLE, escapeCharacter);
}

function escapeCharacter(character: string): string {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/** How the result of a command is written. */
export type OutputFormat = 'table' | 'json' | 'yaml';

/** When colours are used; `true` and `false` are `--color` and `--no-color`. */
export type ColorChoice = 'auto' | 'always' | 'never' | boolean;

/** The flag of every command with colours. */
export interface ColorFlags {
  readonly color: ColorChoice;
}

/** Flags of every command with a result. */
export interface OutputFlags extends ColorFlags {
  readonly output: OutputFormat;
  /** The same as `output: 'json'`. */
  readonly json?: boolean;
}

/** Returns the format that the flags choose. */
export function formatOf({ output, json }: OutputFlags): OutputFormat {
  return json === true ? 'json' : output;
}

/** Writes a result as JSON or YAML, or calls back to write it for people. */
export function printResult(
  result: unknown,
  flags: OutputFlags,
  io: CliIo,
  printTable: () => void,
): void {
  const format = formatOf(flags);
  if (format === 'json') io.printDocument(JSON.stringify(result, undefined, 2));
  else if (format === 'yaml') io.printDocument(formatYaml(result).trimEnd());
  else printTable();
}

/**
 * Writes one of several results when it is known: as JSON a line for each, as YAML a document for each, for people the line that
 * is called back for.
 */
export function printEvent(event: object, flags: OutputFlags, io: CliIo, line: () => Line): void {
  const format = formatOf(flags);
  if (format === 'json') io.printDocument(JSON.stringify(event));
  else if (format === 'yaml') io.printDocument(`---\n${formatYaml(event).trimEnd()}`);
  else io.print(line());
}

/** Colours a text, if the output takes colours. */
export type Paint = (color: Color, text: string) => Span;

/** Creates what colours texts, if the flag, the environment or the terminal says so. */
export function createPaint(io: CliIo, { color }: ColorFlags): Paint {
  const isColored = usesColor(io, color);
  return (name, text) => (isColored ? { color: name, text } : { text });
}

/**
 * The flag counts before the environment, and `NO_COLOR` (https://no-color.org) before `FORCE_COLOR`
 * (https://force-color.org, with 0 and false for no colours, as in Node.js); otherwise colours are for terminals.
 */
function usesColor({ env, isTerminal }: CliIo, choice: ColorChoice): boolean {
  if (choice !== 'auto') return choice === true || choice === 'always';
  if ((env['NO_COLOR'] ?? '') !== '') return false;
  const forced = env['FORCE_COLOR'] ?? '';
  return forced === '' ? isTerminal : !['0', 'false'].includes(forced);
}

/** A cell: numbers are aligned to the right, text to the left. */
export type Cell = string | number;

/** Formats rows in columns, two blanks apart, below their titles. */
export function formatTable(
  titles: readonly string[],
  given: readonly (readonly Cell[])[],
): readonly string[] {
  const rows = given.map((row) => row.map(cleanCell));
  const widths = titles.map((title, column) =>
    rows.reduce((width, row) => Math.max(width, String(row[column] ?? '').length), title.length),
  );
  const isNumeric = titles.map(
    (_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number'),
  );
  return [titles, ...rows].map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        const text = String(cell);
        return isNumeric[column] === true ? text.padStart(width) : text.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
}

function cleanCell(cell: Cell): Cell {
  return typeof cell === 'string' ? cellText(cell) : cell;
}

/** Loads the client, which takes longer to load than everything else, for the commands that need it. */
export const loadClient = lazy<typeof Client>(() => require('./client/index'));
