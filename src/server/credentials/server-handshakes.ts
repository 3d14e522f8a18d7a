import { constants } from 'node:crypto';
import { subscribe } from 'node:diagnostics_channel';
import type { SecureServerOptions } from 'node:http2';
import { Server, TLSSocket } from 'node:tls';
import type { DownstreamTls } from '../../resources/tls/tls';
import { TLS_TIMEOUT_MS } from '../../security/contexts/tls-options';
import { recordTlsConnection } from '../../security/peer/tls-connections';
import type { Clock } from '../../util/clock';
import { errorStack } from '../../util/errors';
import { err } from '../../util/result';
import { describeTlsClientError, type HandshakeLog } from './handshake-log';
import { verifyClient, type ClientVerification } from './verify-client';

/**
 * Sessions are not resumed: Node.js would take the client as verified by what was trusted when the session began. Without a
 * store of sessions in the server, this leaves none.
 */
export const NO_SESSION_TICKETS = constants.SSL_OP_NO_TICKET;

/** Clients that have ended a connection, as probes of a port do, are no failure. */
const CLOSED_BY_CLIENT: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);

/** Published by Node.js with each server that begins to listen (https://nodejs.org/api/diagnostics_channel.html#net). */
const LISTEN = 'tracing:net.server.listen:asyncStart';

/** By the option `ALPNCallback` of the servers. */
const handshakesOfServers = new WeakMap<object, ServerHandshakes>();
let isSubscribed = false;

/**
 * Watches the failures of the servers that grpc-js creates for `bindAsync`, from before their first connection. grpc-js does not
 * show these servers. Servers listen rarely: one subscription for the process, which does not end, costs nothing.
 */
function watchListeningServers(): void {
  if (isSubscribed) return;
  isSubscribed = true;
  subscribe(LISTEN, (message) => {
    const server: unknown = Reflect.get(Object(message), 'server');
    if (!(server instanceof Server)) return;
    const callback: unknown = Reflect.get(server, 'ALPNCallback');
    if (typeof callback === 'function') handshakesOfServers.get(callback)?.watchFailures(server);
  });
}

/** What handshakes are judged by. */
export interface ServerHandshakesOptions {
  readonly tls: DownstreamTls;
  readonly clock: Clock;
  /** Of the handshakes that fail. */
  readonly log: HandshakeLog;
}

/**
 * Verifies the clients of TLS servers of grpc-js, between the end of a handshake and the beginning of HTTP/2. grpc-js has no
 * hook for that, and hands on the options of its `http2.createSecureServer` only. One of them is called in each handshake, with
 * the socket as `this`: the callback that selects the protocol. Without it a handshake selects none, and Node.js serves no
 * HTTP/2 on it: a connection that is not seen here is not served.
 */
export class ServerHandshakes {
  private readonly servers = new WeakSet<Server>();
  private roots: ClientVerification['roots'];
  /** Until when handshakes may have a TLS context with authorities of other trust domains, on the monotonic clock. */
  private othersUntilMs = -Infinity;

  constructor(private readonly options: ServerHandshakesOptions) {}

  /** Returns the options of servers, besides the certificates. Called before they are created. */
  createServerOptions(): SecureServerOptions {
    const begin = (socket: unknown): boolean => socket instanceof TLSSocket && this.begin(socket);
    function ALPNCallback(this: unknown, { protocols }: { readonly protocols: readonly string[] }) {
      return protocols.includes('h2') && begin(this) ? 'h2' : undefined;
    }
    handshakesOfServers.set(ALPNCallback, this);
    watchListeningServers();
    return {
      requestCert: this.options.tls.clientValidation !== undefined,
      // Refused by `verifyClient`, which logs why, and which lets clients without a certificate pass where they may.
      rejectUnauthorized: false,
      handshakeTimeout: TLS_TIMEOUT_MS,
      ALPNCallback,
    };
  }

  /**
   * Sets the authorities by which clients are verified. Those of the TLS contexts are changed with them, but a connection that is
   * accepted already has an earlier context, for as long as its handshake may take.
   */
  use(roots: ClientVerification['roots']): void {
    const before = onlyDomainOf(this.roots);
    if (this.roots !== undefined && (before === undefined || before !== onlyDomainOf(roots))) {
      this.othersUntilMs = this.options.clock.monotonicMs() + TLS_TIMEOUT_MS;
    }
    this.roots = roots;
  }

  /**
   * Puts the verification between the end of a handshake and what Node.js does then.
   * @returns whether the handshake may go on.
   */
  private begin(socket: TLSSocket): boolean {
    // The only way to a server that does not listen, such as one of `createConnectionInjector`: its failures until the first
    // handshake gets here are not known.
    const server: unknown = Reflect.get(socket, 'server');
    if (server instanceof Server) this.watchFailures(server);
    const proceed = socket.listeners('secure');
    // Node.js would go on by another way, which would not be held back.
    if (proceed.length === 0) return false;
    socket.removeAllListeners('secure');
    socket.once('secure', () => {
      const peer = this.verify(socket);
      if (peer.ok) {
        recordTlsConnection(socket, peer.value);
        for (const listener of proceed) Reflect.apply(listener, socket, []);
      } else {
        this.options.log.report(socket.remoteAddress, peer.error);
        socket.destroy();
      }
    });
    return true;
  }

  /** What is thrown in the course of a handshake would end the process. */
  private verify(socket: TLSSocket): ReturnType<typeof verifyClient> {
    const { tls, clock } = this.options;
    try {
      return verifyClient(socket, {
        roots: this.roots,
        hadNoOthers:
          onlyDomainOf(this.roots) !== undefined && clock.monotonicMs() > this.othersUntilMs,
        tls,
        nowMs: clock.now(),
      });
    } catch (error) {
      return err({ cause: 'UNEXPECTED', text: `unexpected error: ${errorStack(error)}` });
    }
  }

  /** Logs the handshakes of a server that fail before a client can be verified. */
  watchFailures(server: Server): void {
    if (this.servers.has(server)) return;
    this.servers.add(server);
    server.on('tlsClientError', (error, { remoteAddress }) => {
      if (failureCauseOf(error) !== undefined)
        this.options.log.report(remoteAddress, describeTlsClientError(error));
    });
  }
}

/** Returns the code of an error of a handshake; `undefined` if the client has ended the connection. */
export function failureCauseOf(error: Error): string | undefined {
  const { cause } = describeTlsClientError(error);
  return CLOSED_BY_CLIENT.has(cause) ? undefined : cause;
}

/** Returns the trust domain of authorities that are those of one; `undefined` otherwise. */
function onlyDomainOf(roots: ClientVerification['roots']): string | undefined {
  const bundles = typeof roots === 'object' ? roots.bundles : undefined;
  const [domain] = bundles?.size === 1 ? bundles.keys() : [];
  return domain;
}
