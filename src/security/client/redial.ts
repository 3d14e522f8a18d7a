import { connect, type Socket } from 'node:net';
import type { SecureConnector } from '../../grpc-js';
import type { Clock } from '../../util/clock';

/** Opens another connection to the same server. Rejects with the reason why it cannot. */
export type Redial = () => Promise<Socket>;

/** A connector that may need more connections than the one it is given. */
export interface RedialingConnector extends Omit<SecureConnector, 'connect'> {
  /** @param redial Default: connects to the address that the socket is connected to. */
  connect(socket: Socket, redial?: Redial): ReturnType<SecureConnector['connect']>;
}

/** The longest that a connection may take. */
const TIMEOUT_MS = 20_000;

/** Returns a function that connects to where a socket is connected now, or will be. */
export function redialOf(first: Socket, clock: Clock): Redial {
  let { remoteAddress: host, remotePort: port } = first;
  if (host === undefined) {
    first.once('connect', () => ({ remoteAddress: host, remotePort: port } = first));
  }
  return () =>
    new Promise((resolve, reject) => {
      if (host === undefined || port === undefined) {
        reject(new Error('the connection cannot be made again: it has no address'));
        return;
      }
      const socket = connect({ host, port, noDelay: true });
      const timer = clock.setTimer(
        () => socket.destroy(new Error('connecting again timed out after 20 s')),
        TIMEOUT_MS,
      );
      socket.once('close', () => timer.release());
      socket.once('error', reject);
      socket.once('connect', () => {
        timer.release();
        socket.off('error', reject);
        resolve(socket);
      });
    });
}
