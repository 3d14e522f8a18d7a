import type { Clock } from '../../util/clock';
import type { Logger } from '../../util/logger';
import type { HandshakeFailure } from './server-handshake';

/** A cause is logged again after this. */
const INTERVAL_MS = 60_000;
/** The number of causes with lines of their own. Those of Node.js, OpenSSL and this package together are fewer. */
const MAX_CAUSES = 200;

/** The environment of a {@link HandshakeLog}. */
export interface HandshakeLogOptions {
  /** Begins every message; ends in a space. */
  readonly subject: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Logs handshakes that fail: the first one of each cause, and the next ones as a number, at most once a minute. */
export class HandshakeLog {
  private readonly causes = new Map<string, { loggedAtMs: number; unlogged: number }>();

  constructor(private readonly options: HandshakeLogOptions) {}

  /** @param client The address of the client. */
  report(client: string | undefined, { cause, text }: HandshakeFailure): void {
    const { subject, clock, logger } = this.options;
    const nowMs = clock.monotonicMs();
    const known = this.causes.get(cause);
    if (known !== undefined && nowMs - known.loggedAtMs < INTERVAL_MS) {
      known.unlogged++;
      return;
    }
    if (known === undefined && this.causes.size >= MAX_CAUSES) return;
    this.causes.set(cause, { loggedAtMs: nowMs, unlogged: 0 });
    const others = known?.unlogged ?? 0;
    const more = others > 0 ? `; so did ${others} others since this was last logged` : '';
    const from = client ?? 'a client without an address';
    logger.error(() => `${subject}TLS handshake with ${from} failed: ${text}${more}`, {
      event: 'handshake-failed',
      error: text,
    });
  }
}
