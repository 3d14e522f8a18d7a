import { formatYaml } from '../wire/proto-json/yaml-document';
import type { CliIo } from './io';
import { cellText, type Color, type Span } from './terminal-text';

/** How the result of a command is written. */
export type OutputFormat = 'table' | 'json' | 'yaml';

/** Flags of every command with a result. */
export interface OutputFlags {
  readonly output: OutputFormat;
  /** The same as `output: 'json'`. */
  readonly json?: boolean;
  /** False for `--no-color`. */
  readonly color: boolean;
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

/** Colours a text, if the output takes colours. */
export type Paint = (color: Color, text: string) => Span;

/** Colours are for terminals, unless `--no-color` or `NO_COLOR` (https://no-color.org) is set. */
export function createPaint(io: CliIo, flags: Pick<OutputFlags, 'color'>): Paint {
  const isPlain = !io.isTerminal || !flags.color || (io.env['NO_COLOR'] ?? '') !== '';
  return (color, text) => (isPlain ? { text } : { color, text });
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
