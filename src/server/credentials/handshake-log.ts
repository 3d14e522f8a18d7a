import type { Clock } from '../../util/clock';
import type { Logger } from '../../util/logger';
import { CauseLog } from '../cause-log';
import type { HandshakeFailure } from './server-handshake';

/** The environment of a {@link HandshakeLog}. */
export interface HandshakeLogOptions {
  /** Begins every message; ends in a space. */
  readonly subject: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called for each of them. Default: nothing is. */
  readonly onHandshake?: (cause: string) => void;
}

/** Logs handshakes that fail, by their causes: those of Node.js, OpenSSL and this package together are fewer than it remembers. */
export class HandshakeLog {
  private readonly causes: CauseLog;

  constructor(private readonly options: HandshakeLogOptions) {
    this.causes = new CauseLog(options.clock);
  }

  /** @param client The address of the client. */
  report(client: string | undefined, { cause, text }: HandshakeFailure): void {
    const { subject, logger, onHandshake } = this.options;
    onHandshake?.(cause);
    this.causes.report(cause, (others) => {
      const more = others > 0 ? `; so did ${others} others since this was last logged` : '';
      const from = client ?? 'a client without an address';
      logger.error(() => `${subject}TLS handshake with ${from} failed: ${text}${more}`, {
        event: 'handshake-failed',
        error: text,
      });
    });
  }
}
