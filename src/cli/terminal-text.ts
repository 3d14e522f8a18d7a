import { styleText } from 'node:util';
import { cutText } from '../util/cut-text';

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
export function cellText(text: string): string {
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
