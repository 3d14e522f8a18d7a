import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import type { Line } from './terminal-text';

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

/** Writes the lines of an error that lists several problems. */
export function printErrors(lines: readonly string[], io: Pick<CliIo, 'printError'>): void {
  for (const line of lines) io.printError(line);
}
