import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';

/** What a command has of the world around it. */
export interface CliIo {
  /** Writes a line for people. */
  print(line: string): void;
  /** Writes a line about something that is wrong. */
  printError(line: string): void;
  /** Calls back when the user or the system wants the command to end. */
  onInterrupt(callback: () => void): Handle;
  readonly clock: Clock;
}
