import { connect, type Socket } from 'node:net';
import type { SecureConnector } from '../../grpc-js';
import { LATE_CODE } from '../../grpc-js/connect-time';
import { type Clock, systemClock } from '../../util/clock';
import { MAX_ANSWER_HEADER_BYTES } from '../../util/limits';
import { Brand, ownCopy } from '../../util/package-copy';
import { err, ok, type Result } from '../../util/result';
import { joinHostPort } from '../../util/text';
import { afterRunning } from '../../util/running-time';
import { ForwardingConnector } from './contained-connector';

/** The longest that a connection may take, and then the answer of a proxy. */
const TIMEOUT_MS = 20_000;
const NO_ANSWER = 'no answer within 20 s';
const HEADER_END = '\r\n\r\n';
const STATUS_LINE_START = 'HTTP/1.';

/**
 * Connects through an HTTP proxy, and secures the connection to the endpoint as another connector does (gRFC A86).
 *
 * `grpc.http_connect_target` of grpc-js does not serve: it writes IPv6 addresses without brackets, waits forever for an
 * answer, fails without a reason, and checks the certificate of the endpoint against its address
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/http_proxy.ts).
 */
export class HttpConnectConnector extends ForwardingConnector {
  readonly [Brand.HTTP_CONNECT] = ownCopy;

  /** @param target The address of the endpoint. */
  constructor(
    protected override readonly connector: RedialingConnector,
    private readonly target: string,
    private readonly clock: Clock = systemClock,
  ) {
    super(connector);
  }

  /** @param socket A connection to the proxy. @throws Error why it failed. */
  override async connect(socket: Socket): ReturnType<SecureConnector['connect']> {
    const redial = redialOf(socket, this.clock);
    await openTunnel(socket, this.target, this.clock);
    return this.connector.connect(socket, async () => {
      const again = await redial();
      await openTunnel(again, this.target, this.clock);
      return again;
    });
  }
}

/**
 * Requests that the proxy connects the socket to the target. Rejects with the reason for which it did not, without the target: the
 * failures of several endpoints behind a proxy have one cause.
 */
function openTunnel(socket: Socket, target: string, clock: Clock): Promise<void> {
  const { remoteAddress, remotePort } = socket;
  const proxy = remoteAddress === undefined ? '' : joinHostPort(remoteAddress, remotePort ?? 0);
  return new Promise((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0);
    const finish = (result: Result<Buffer, string>) => {
      timer.release();
      socket
        .off('readable', onReadable)
        .off('error', onError)
        .off('end', onEnd)
        .off('close', onEnd);
      if (result.ok) {
        // They are the first ones of the endpoint.
        if (result.value.length > 0) socket.unshift(result.value);
        resolve();
        return;
      }
      socket.on('error', () => {});
      socket.destroy();
      reject(new Error(`HTTP proxy ${proxy}: ${result.error}`));
    };
    const onReadable = () => {
      received = Buffer.concat([received, readAll(socket)]);
      const result = readConnectAnswer(received);
      if (result !== undefined) finish(result);
    };
    const onError = (error: NodeJS.ErrnoException) =>
      finish(err(error.code === LATE_CODE ? NO_ANSWER : error.message));
    const onEnd = () => finish(err('the proxy closed the connection before it answered'));
    const timer = afterRunning(clock, () => finish(err(NO_ANSWER)), TIMEOUT_MS);
    socket.on('readable', onReadable).on('error', onError).on('end', onEnd).on('close', onEnd);
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  });
}

function readAll(socket: Socket): Buffer {
  const chunks: Buffer[] = [];
  for (;;) {
    const chunk: unknown = socket.read();
    if (!Buffer.isBuffer(chunk)) return Buffer.concat(chunks);
    chunks.push(chunk);
  }
}

/** Reads the answer to CONNECT. @returns the bytes after it, or an error text; `undefined` while it is incomplete. */
export function readConnectAnswer(received: Buffer): Result<Buffer, string> | undefined {
  const start = received.toString('latin1', 0, STATUS_LINE_START.length);
  if (!STATUS_LINE_START.startsWith(start)) return err('the answer is not HTTP/1.1');
  const end = received.indexOf(HEADER_END);
  const headerBytes = end < 0 ? received.length : end + HEADER_END.length;
  if (headerBytes > MAX_ANSWER_HEADER_BYTES) {
    return err(`the answer is longer than ${MAX_ANSWER_HEADER_BYTES} bytes`);
  }
  if (end < 0) return undefined;
  const [, status] = /^HTTP\/1\.\d (\d{3})[ \r]/.exec(received.toString('latin1', 0, 64)) ?? [];
  if (status === undefined) return err('the answer is not HTTP/1.1');
  return status.startsWith('2')
    ? ok(received.subarray(headerBytes))
    : err(`the proxy answered with status ${status}`);
}

/** Opens another connection to the same server. Rejects with the reason why it cannot. */
export type Redial = () => Promise<Socket>;

/** A connector that may need more connections than the one it is given. */
export interface RedialingConnector extends Omit<SecureConnector, 'connect'> {
  /** @param redial Default: connects to the address that the socket is connected to. */
  connect(socket: Socket, redial?: Redial): ReturnType<SecureConnector['connect']>;
}

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
      const timer = afterRunning(
        clock,
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
