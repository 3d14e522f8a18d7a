import { type BackoffStep, connectionBackoff, firstBackoffStep } from '../../util/backoff';
import type { Random } from '../../util/random';

/** Node's names of the two errors, with their meaning (errno(3)). */
const CODES: ReadonlyMap<string, string> = new Map([
  ['EMFILE', 'too many open files in this process'],
  ['ENFILE', 'too many open files in the system'],
]);
/** The delay of an attempt after a connection was released or closed, until its socket has been closed. */
const CLOSED_MS = 100;

/** Returns the code of an error that reports a lack of file descriptors. */
export function findShortage(error: string): string | undefined {
  for (const code of CODES.keys()) if (error.includes(code)) return code;
  return undefined;
}

/**
 * The time during which the process has no file descriptors for more connections. One attempt is made after a growing
 * delay, or after a connection was closed; while attempts succeed, more are made at a time.
 */
export class DescriptorShortage {
  /** The text for errors. */
  readonly text: string;
  /** The maximum number of attempts in flight. */
  window = 0;
  /** The time of the next attempt, if none may be in flight. */
  probeMs: number;
  private backoff: BackoffStep;
  private hasReleased = false;

  constructor(
    readonly code: string,
    private readonly random: Random,
    now: number,
  ) {
    this.text = `connections cannot be opened: ${CODES.get(code) ?? 'too many open files'} (${code})`;
    this.backoff = firstBackoffStep(connectionBackoff, random);
    this.probeMs = now + this.backoff.delayMs;
  }

  /**
   * Allows one attempt once it is due.
   * @returns 'after closing' if connections were released since the last attempt: the next one waits for their sockets.
   */
  probeIfDue(now: number): 'after closing' | undefined {
    if (this.window > 0 || now < this.probeMs) return undefined;
    if (this.hasReleased) {
      this.hasReleased = false;
      this.probeMs = now + CLOSED_MS;
      return 'after closing';
    }
    this.window = 1;
    return undefined;
  }

  /** Records that an attempt got a descriptor, unless it was in flight before the shortage. */
  onAvailable(): void {
    if (this.window > 0) this.window++;
  }

  /** Records that an attempt got no descriptor. */
  onExhausted(now: number): void {
    if (this.window === 0) return;
    this.window = 0;
    this.backoff = this.backoff.next();
    this.probeMs = now + this.backoff.delayMs;
  }

  /** Records that a connection was closed, or released by its policy. */
  onClosed(now: number): void {
    this.hasReleased = true;
    this.backoff = firstBackoffStep(connectionBackoff, this.random);
    this.probeMs = Math.min(this.probeMs, now + CLOSED_MS);
  }
}
