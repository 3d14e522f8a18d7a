import type { Clock } from './clock';
import type { LogFields } from './logger';

/** The number of lines of one cause at once. */
const BURST = 5;
/** Milliseconds after which one more line of a cause is written. */
const INTERVAL_MS = 10_000;
/** The lines of all causes in a second. */
const MAX_PER_SECOND = 20;
/** The number of causes that are remembered. */
const MAX_CAUSES = 1000;

interface CauseLines {
  /** Lines that may still be written; one more after each interval. */
  credit: number;
  /** When the credit was last counted, on the monotonic clock. */
  sinceMs: number;
  suppressed: number;
  /** The line written last. */
  last: string | undefined;
  lastMs: number;
}

/** Bounds the lines of a log, by cause and in all. Lines that are left out are counted. */
export class LogLimiter {
  /** The cause that had a line last at the end. */
  private readonly causes = new Map<string, CauseLines>();
  private secondMs = -Infinity;
  private written = 0;

  constructor(private readonly clock: Pick<Clock, 'monotonicMs'>) {}

  /**
   * Decides whether to write a line. One that repeats the last of its cause, such as for another channel, is written
   * again after the interval only.
   *
   * @returns The number of lines of the cause left out before this one; `undefined` if this one is to be left out.
   */
  admit(cause: string, line: string): number | undefined {
    const nowMs = this.clock.monotonicMs();
    const lines = this.find(cause, nowMs);
    const isRepeated = lines.last === line && nowMs - lines.lastMs < INTERVAL_MS;
    if (isRepeated || lines.credit < 1 || !this.hasRoom(nowMs)) {
      lines.suppressed++;
      return undefined;
    }
    const { suppressed } = lines;
    lines.credit--;
    lines.suppressed = 0;
    lines.last = line;
    lines.lastMs = nowMs;
    this.written++;
    return suppressed;
  }

  /** Handles a line about the same at another level: the next one here is no repetition. */
  onOtherLine(cause: string): void {
    const lines = this.causes.get(cause);
    if (lines !== undefined) lines.last = undefined;
  }

  private find(cause: string, nowMs: number): CauseLines {
    const known = this.causes.get(cause);
    const lines = known ?? {
      credit: BURST,
      sinceMs: nowMs,
      suppressed: 0,
      last: undefined,
      lastMs: nowMs,
    };
    const intervals = Math.floor((nowMs - lines.sinceMs) / INTERVAL_MS);
    if (lines.credit === BURST) lines.sinceMs = nowMs;
    else lines.sinceMs += intervals * INTERVAL_MS;
    lines.credit = Math.min(BURST, lines.credit + intervals);
    this.causes.delete(cause);
    this.causes.set(cause, lines);
    this.forgetOldest();
    return lines;
  }

  private forgetOldest(): void {
    if (this.causes.size <= MAX_CAUSES) return;
    for (const oldest of this.causes.keys()) {
      this.causes.delete(oldest);
      return;
    }
  }

  private hasRoom(nowMs: number): boolean {
    if (nowMs - this.secondMs >= 1000) {
      this.secondMs = nowMs;
      this.written = 0;
    }
    return this.written < MAX_PER_SECOND;
  }
}

/** Returns the end of a line that says how many of its cause were left out before; empty if none was. */
export function describeSuppressed(count: number): string {
  if (count === 0) return '';
  const lines = count === 1 ? '1 such line was' : `${count} such lines were`;
  return ` (${lines} left out before)`;
}

/** Events of clients of a server, which have no resource and no recovery. */
const OF_CLIENTS: ReadonlySet<string> = new Set(['call-refused', 'handshake-failed']);

/** Returns what lines have in common that are about the same: their subject, or the text without numbers. */
export function causeOf(message: string, fields: LogFields = {}): string {
  const { event, serverUri = '', typeUrl = '', name = '', target = '', cluster = '' } = fields;
  const { endpoint, error = '' } = fields;
  // What has no event of its own has no fields either.
  if (event === undefined || event === 'recovered') return message.replace(/\d+/g, '#');
  // Several endpoints of a cluster fail for one cause, and others for another; so do clients of a server.
  const detail = endpoint === undefined && !OF_CLIENTS.has(event) ? '' : error;
  // Not the event: a failure and its recovery are about the same.
  return [serverUri, typeUrl, name, target, cluster, detail].join('\n');
}
