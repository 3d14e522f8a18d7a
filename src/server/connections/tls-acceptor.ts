import type { Socket } from 'node:net';
import type { ServerCredentials } from '../../grpc-js';
import { errorMessage } from '../../util/errors';
import type { Logger } from '../../util/logger';
import { TlsHandshakes, type OnSecured } from '../../util/tls-handshakes';
import { failureCauseOf } from '../credentials/server-handshakes';
import { ServerTlsCredentials } from '../credentials/server-tls-credentials';

/** The cause of handshakes that end because the server has no certificate yet. */
const NOT_LOADED = 'NOT_LOADED';

export interface TlsAcceptorOptions {
  readonly credentials: ServerCredentials;
  /** Names the credentials in messages; ends in a space. */
  readonly subject: string;
  /** Whether Node.js traces the TLS protocol (`grpc-node.tls_enable_trace`). */
  readonly enableTrace: boolean;
  readonly logger: Logger;
  /** Called when a handshake has ended. @param cause Why it failed; `undefined` if it did not. */
  readonly onHandshake: (cause: string | undefined) => void;
  /** Whether the credentials report handshakes that fail, because they know more causes than Node.js. */
  readonly isReported: boolean;
}

/** Runs the handshakes of the connections of a server, by any secure credentials, and reports how they end. */
export class TlsAcceptor {
  private readonly handshakes: TlsHandshakes;

  constructor(private readonly options: TlsAcceptorOptions) {
    const { credentials, subject, enableTrace, logger, isReported, onHandshake } = options;
    const handler = {
      onBadCertificates: (error: unknown) =>
        logger.error(() => `${subject}certificates cannot be used: ${errorMessage(error)}`),
      onFailed: (error: Error) => {
        const cause = isReported ? undefined : failureCauseOf(error);
        if (cause !== undefined) onHandshake(cause);
      },
      onNoCertificates: () => onHandshake(NOT_LOADED),
    };
    this.handshakes = new TlsHandshakes(credentials, handler, { enableTrace });
    if (credentials instanceof ServerTlsCredentials) {
      credentials.watchFailures(this.handshakes.server);
    }
    this.handshakes.open();
  }

  /** Begins the handshake of a connection. It is closed if there are no certificates, or if the handshake fails. */
  accept(socket: Socket, onSecured: OnSecured): void {
    this.handshakes.begin(socket, (secured) => {
      this.options.onHandshake(undefined);
      onSecured(secured);
    });
  }

  /** Releases the certificates. There must be no handshake left. */
  close(): void {
    this.handshakes.close();
  }
}
