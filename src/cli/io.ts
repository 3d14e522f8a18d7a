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
