import { lookup } from 'node:dns';
import { connect as connectSocket, createServer, isIP, type Socket } from 'node:net';
import { connect as connectTls, type PeerCertificate, type TLSSocket } from 'node:tls';
import type { Clock } from '../../../../../src/util/clock';
import { describeDuration } from '../../../../../src/util/duration';
import { errorMessage } from '../../../../../src/util/errors';
import type { IpPort } from '../../../../../src/util/host-port';
import { err, ok, type Result } from '../../../../../src/util/result';
import { afterRunning } from '../../../../../src/util/running-time';

/** Something that took some time. */
export interface Timed<T> {
  readonly value: T;
  readonly ms: number;
}

/** Runs a step that calls back, for at most some milliseconds. @returns its error, also that time ran out. */
export function runStep<T>(
  clock: Clock,
  timeoutMs: number,
  start: (done: (result: Result<T, string>) => void) => () => void,
): Promise<Result<Timed<T>, string>> {
  return new Promise((resolve) => {
    const begun = clock.monotonicMs();
    const state = { isOver: false, stop: () => {} };
    const end = (result: Result<T, string>) => {
      if (state.isOver) return;
      state.isOver = true;
      timer.release();
      state.stop();
      const ms = clock.monotonicMs() - begun;
      resolve(result.ok ? ok({ value: result.value, ms }) : result);
    };
    const timer = afterRunning(
      clock,
      () => end(err(`no answer within ${describeDuration(timeoutMs)}`)),
      timeoutMs,
      true,
    );
    state.stop = start(end);
    // A step that has ended at once had nothing to stop by then.
    if (state.isOver) state.stop();
  });
}

/** The addresses of a name. */
export interface ResolvedName {
  readonly v4: readonly string[];
  readonly v6: readonly string[];
}

/** Resolves a name as grpc-js does. An IP address is its own. */
export function resolveName(
  host: string,
  clock: Clock,
  timeoutMs: number,
): Promise<Result<Timed<ResolvedName>, string>> {
  return runStep(clock, timeoutMs, (done) => {
    lookup(host, { all: true }, (error, addresses) => {
      if (error !== null) {
        done(err(error.message));
        return;
      }
      const of = (family: number) =>
        addresses.filter((each) => isIP(each.address) === family).map((each) => each.address);
      done(ok({ v4: of(4), v6: of(6) }));
    });
    return () => {};
  });
}

/** What a socket connects to. */
export type SocketTarget =
  { readonly host: string; readonly port: number } | { readonly path: string };

/** Connects to an address and disconnects again. */
export function probeSocket(
  target: SocketTarget,
  clock: Clock,
  timeoutMs: number,
): Promise<Result<Timed<undefined>, string>> {
  return runStep(clock, timeoutMs, (done) => {
    const socket: Socket = connectSocket(target);
    socket.once('connect', () => done(ok(undefined)));
    socket.on('error', (error: Error) => done(err(messageOf(error))));
    return () => socket.destroy();
  });
}

/** Listens on an address, and stops at once. */
export function probeListen(
  { address: host, port }: IpPort,
  clock: Clock,
  timeoutMs: number,
): Promise<Result<Timed<undefined>, string>> {
  return runStep(clock, timeoutMs, (done) => {
    const server = createServer((socket) => socket.destroy());
    server.on('error', (error) => done(err(messageOf(error))));
    server.listen({ host, port }, () => done(ok(undefined)));
    return () => server.close();
  });
}

/** How a server is verified, and the certificate of the client. */
export interface TlsProbeOptions {
  /** The name the certificate has to be for. */
  readonly serverName: string;
  /** In PEM. Default: those of Node.js. */
  readonly ca?: Buffer | undefined;
  readonly cert?: Buffer | undefined;
  readonly key?: Buffer | undefined;
}

/** What a TLS handshake has shown. */
export interface TlsProbe {
  /** Such as `TLSv1.3`. */
  readonly protocol: string;
  /** Whether the server speaks HTTP/2. */
  readonly isHttp2: boolean;
  /** Why the certificate is not trusted; `undefined` if it is. A code of OpenSSL or Node.js, or a text. */
  readonly problem: string | undefined;
  /** Milliseconds since the epoch. */
  readonly startsAtMs: number;
  readonly expiresAtMs: number;
  /** As in the certificate. */
  readonly names: string;
}

/** Makes a TLS handshake, whether the certificate is trusted or not. */
export function probeTls(
  target: SocketTarget,
  { serverName, ...certificates }: TlsProbeOptions,
  clock: Clock,
  timeoutMs: number,
): Promise<Result<Timed<TlsProbe>, string>> {
  return runStep(clock, timeoutMs, (done) => {
    const socket = connectTls({
      ...target,
      ...(isIP(serverName) === 0 && { servername: serverName }),
      ...certificates,
      ALPNProtocols: ['h2'],
      rejectUnauthorized: false,
    });
    socket.once('secureConnect', () => done(ok(describeSocket(socket))));
    socket.on('error', (error: Error) => done(err(messageOf(error))));
    socket.once('close', () => done(err('the connection was closed during the handshake')));
    return () => socket.destroy();
  });
}

function describeSocket(socket: TLSSocket): TlsProbe {
  const certificate: PeerCertificate = socket.getPeerCertificate();
  // Its type is Error, its value a code or a text.
  const problem: unknown = socket.authorizationError;
  return {
    protocol: socket.getProtocol() ?? 'TLS',
    isHttp2: socket.alpnProtocol === 'h2',
    problem: problem instanceof Error ? problem.message : textOf(problem),
    startsAtMs: Date.parse(certificate.valid_from),
    expiresAtMs: Date.parse(certificate.valid_to),
    names: certificate.subjectaltname ?? '',
  };
}

function textOf(problem: unknown): string | undefined {
  return typeof problem === 'string' ? problem : undefined;
}

function messageOf(error: Error): string {
  if (!(error instanceof AggregateError)) return error.message;
  // Of several addresses, each with its error.
  const errors: readonly unknown[] = error.errors;
  return errors.map((each) => errorMessage(each)).join('; ');
}
