import type { TLSSocket } from 'node:tls';
import type { Clock } from '../../util/clock';
import { codeOf, describeHandshakeError } from './handshake-errors';

/** The longest that a server may take from the handshake to its SETTINGS. grpc-js has no bound. */
const TIMEOUT_MS = 20_000;

/** Errors of a connection that the other side has closed. */
const CLOSED_CODES: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);
const CLOSED =
  'the server closed the connection after the TLS handshake, as one that does not accept the client certificate does';

/**
 * Watches a connection from the handshake on, until the server has sent something: the SETTINGS of HTTP/2 come first. Over
 * TLS 1.3, a server checks the client certificate after the client considers the handshake complete. A connection that ends
 * before the SETTINGS has an error that says why; one whose server sends nothing is closed after 20 s.
 *
 * @param describe Adds what the connection is for.
 */
export function watchServerSettings(
  socket: TLSSocket,
  clock: Clock,
  describe: (text: string) => string,
): void {
  const isSilent = () => socket.bytesRead === 0;
  let own: Error | undefined;
  const fail = (text: string) => (own = new Error(describe(text)));
  const timer = clock.setTimer(() => {
    if (isSilent()) socket.destroy(fail('the server sent no HTTP/2 SETTINGS within 20 s'));
  }, TIMEOUT_MS);
  socket.once('error', (error: Error) => {
    // grpc-js puts the message of this very error into the status of calls, once this listener has returned.
    if (error === own || !isSilent()) return;
    const isClosed = CLOSED_CODES.has(codeOf(error));
    error.message = describe(isClosed ? CLOSED : describeHandshakeError(error));
  });
  socket.once('close', (hadError: boolean) => {
    timer.release();
    // The listener of grpc-js comes after this one: without an error, all it could say is "Failed to connect".
    if (!hadError && isSilent()) socket.emit('error', fail(CLOSED));
  });
}
