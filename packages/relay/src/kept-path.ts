import type { Clock } from '../../../src/util/clock';
import { errorMessage } from '../../../src/util/errors';
import type { Handle } from '../../../src/util/handle';
import type { Logger } from '../../../src/util/logger';
import { sanitizeText } from '../../../src/util/text';
import { ClaimedPath } from './claimed-path';

/** Milliseconds between two examinations of the path. */
const CHECK_MS = 500;

/** Constructor options of a kept path. */
export interface KeptPathOptions {
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly logger: Logger;
  /** Called with a socket in place of the one before, whose open connections stay. */
  readonly onReplaced: (claim: ClaimedPath) => void;
}

/**
 * The path of a relay that has a process of its own: if its socket is removed or replaced, which its connections do not notice, it
 * is created again. While another process listens on the path, the relay serves the connections that it has.
 */
export class KeptPath {
  private timer: Handle | undefined;
  private isClosed = false;
  /** The socket is gone, which has been logged. */
  private isLost = false;
  /** Why it was not created again, as it was last logged. */
  private failure: string | undefined;

  constructor(
    private claim: ClaimedPath,
    private readonly options: KeptPathOptions,
  ) {
    // The relay keeps its process alive.
    claim.server.ref();
    this.checkLater();
  }

  /** Removes the socket and stops listening. */
  release(): void {
    this.close();
    this.claim.release();
  }

  /** Stops listening, as a crash does: the file stays. */
  abandon(): void {
    this.close();
    this.claim.abandon();
  }

  private close(): void {
    this.isClosed = true;
    this.timer?.release();
  }

  private checkLater(): void {
    this.timer = this.options.clock.setTimer(() => this.check(), CHECK_MS);
  }

  private check(): void {
    if (this.isOurs()) this.checkLater();
    else void this.replace();
  }

  /** A path that cannot be examined, as on a folder that was closed to this user, is tried again. */
  private isOurs(): boolean {
    try {
      return this.claim.isOurs();
    } catch {
      return false;
    }
  }

  private async replace(): Promise<void> {
    const { path } = this.claim;
    if (!this.isLost) this.report(`${path}: its socket was removed or replaced`);
    this.isLost = true;
    const claimed = await ClaimedPath.claim(path).catch((error: unknown) => errorMessage(error));
    if (this.isClosed) {
      if (typeof claimed !== 'string') claimed.release();
      return;
    }
    this.checkLater();
    if (typeof claimed !== 'string') this.use(claimed);
    else if (claimed !== this.failure) {
      this.failure = claimed;
      this.report(`${claimed}; the processes that are connected are served, and it is tried again`);
    }
  }

  private use(claimed: ClaimedPath): void {
    const before = this.claim;
    this.claim = claimed;
    claimed.server.ref();
    this.options.onReplaced(claimed);
    before.release();
    this.isLost = false;
    this.failure = undefined;
    const text = `relay ${claimed.path}: listens again`;
    this.options.logger.info(() => sanitizeText(text), { event: 'recovered' });
  }

  private report(text: string): void {
    const { logger } = this.options;
    logger.error(() => sanitizeText(`relay ${text}`), { event: 'relay-failed', error: text });
  }
}
