import type { Socket } from 'node:net';
import { MAX_HELLO_BYTES } from './limits';

/** The first byte of a connection with TLS: a record of the handshake. */
const HANDSHAKE_RECORD = 22;
const RECORD_HEADER = 5;
const MESSAGE_HEADER = 4;

/**
 * Calls back once the first bytes of a connection have arrived, of TLS the whole ClientHello. They stay in the socket, unread. Does
 * not call back if the connection ends before.
 */
export function whenHelloArrived(socket: Socket, onArrived: () => void): void {
  let bytes = Buffer.alloc(0);
  const look = () => {
    const chunk: unknown = socket.read();
    if (!Buffer.isBuffer(chunk)) return;
    bytes = Buffer.concat([bytes, chunk]);
    if (!isWholeHello(bytes)) return;
    socket.removeListener('readable', look);
    socket.unshift(bytes);
    onArrived();
  };
  socket.on('readable', look);
}

/** Whether the first bytes of a connection are a whole ClientHello, which may be in several records, or no TLS at all. */
function isWholeHello(bytes: Buffer): boolean {
  if (bytes[0] !== HANDSHAKE_RECORD || bytes.length > MAX_HELLO_BYTES) return true;
  if (bytes.length < RECORD_HEADER + MESSAGE_HEADER) return false;
  let missing = MESSAGE_HEADER + bytes.readUIntBE(RECORD_HEADER + 1, 3);
  let at = 0;
  while (missing > 0 && at + RECORD_HEADER <= bytes.length) {
    // What is no record of the handshake is refused by TLS.
    if (bytes[at] !== HANDSHAKE_RECORD) return true;
    const length = bytes.readUInt16BE(at + 3);
    at += RECORD_HEADER + length;
    missing -= length;
  }
  return missing <= 0 && at <= bytes.length;
}
