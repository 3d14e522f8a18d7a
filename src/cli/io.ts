import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';

/** The terminal, signals, environment and clock of a command. */
export interface CliIo {
  /** Writes a line to the standard output. */
  print(line: string): void;
  /** Writes a line about an error. */
  printError(line: string): void;
  /** Replaces what the terminal shows. */
  redraw(lines: readonly string[]): void;
  /** Calls back on SIGINT and SIGTERM. */
  onInterrupt(callback: () => void): Handle;
  /** Whether the standard output is a terminal. */
  readonly isTerminal: boolean;
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

/** The exit codes of all commands. */
export const exitCode = {
  /** Nothing was found. */
  fine: 0,
  /** Something was found: an error, a difference, a rejection. */
  findings: 1,
  /** The arguments or a file cannot be used. */
  badInput: 2,
  /** A server cannot be reached, or did not answer in time. */
  unreachable: 3,
} as const;

/** Waits for SIGINT or SIGTERM. */
export function untilInterrupted(io: Pick<CliIo, 'onInterrupt'>): Promise<void> {
  return new Promise((resolve) => {
    const interrupt = io.onInterrupt(() => {
      interrupt.release();
      resolve();
    });
  });
}

/** Line feeds and the colours of `Paint`. */
const OWN_CONTROLS = new RegExp(`(\n|${String.fromCharCode(0x1b)}\\[\\d{1,2}m)`, 'u');
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/**
 * Escapes the control characters of a text for the terminal, except line feeds and colours: names and statuses are from
 * control planes and clients, and could otherwise move the cursor or forge a line. The escapes are those of JSON.
 */
export function printable(text: string): string {
  return text
    .split(OWN_CONTROLS)
    .map((part, i) => (i % 2 === 1 ? part : part.replace(UNPRINTABLE, escapeCharacter)))
    .join('');
}

function escapeCharacter(character: string): string {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
