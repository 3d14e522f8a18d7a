import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/errors';
import type { Logger } from '../../util/logger';
import { CauseLog } from '../observation/cause-log';
import { describeFailure, NO_HTTP2, type Cause, type HandshakeFailure } from './verify-client';

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

const NOT_TLS: Cause = ['the client does not speak TLS', 'use TLS credentials in the client'];
const NOT_TRUSTED: Cause = [
  'the client does not accept the certificate of this server',
  'its log says which authorities and names it expects',
];

/** What is wrong with a handshake that ends before the client can be verified, by the code of OpenSSL or Node.js. */
const CAUSES: ReadonlyMap<string, Cause> = new Map([
  ['ERR_SSL_WRONG_VERSION_NUMBER', NOT_TLS],
  ['ERR_SSL_HTTP_REQUEST', NOT_TLS],
  ['ERR_SSL_PACKET_LENGTH_TOO_LONG', NOT_TLS],
  [
    'ERR_SSL_UNSUPPORTED_PROTOCOL',
    ['the client offers no protocol version from TLS 1.2 on', 'update it'],
  ],
  ['ERR_SSL_NO_APPLICATION_PROTOCOL', NO_HTTP2],
  [
    'ERR_SSL_NO_SHARED_CIPHER',
    ['the client offers no cipher that this server has', 'compare those of both'],
  ],
  // The alerts have other names in OpenSSL 3.2 and later.
  ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', NOT_TRUSTED],
  ['ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE', NOT_TRUSTED],
  ['ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE', NOT_TRUSTED],
  ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN', NOT_TRUSTED],
  ['ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_UNKNOWN', NOT_TRUSTED],
  ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', NOT_TRUSTED],
  ['ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_EXPIRED', NOT_TRUSTED],
  [
    'ERR_TLS_HANDSHAKE_TIMEOUT',
    ['it took too long', 'check the client, and the network between both'],
  ],
]);

/** Describes an error of the event `tlsClientError` of a TLS server of Node.js. */
export function describeTlsClientError(error: Error): HandshakeFailure {
  const cause = textOf(error, 'code') ?? error.name;
  // The message of OpenSSL has the number of a thread and a path of its source.
  const known = CAUSES.get(cause) ?? [textOf(error, 'reason') ?? errorMessage(error)];
  return { cause, text: describeFailure(known, cause) };
}

function textOf(error: Error, name: string): string | undefined {
  const value: unknown = Reflect.get(error, name);
  return typeof value === 'string' ? value : undefined;
}
