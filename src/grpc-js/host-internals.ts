import { setMaxListeners } from 'node:events';
import { constants } from 'node:http2';
import { isIP, Socket } from 'node:net';
import {
  createSecureContext,
  TLSSocket,
  type checkServerIdentity,
  type PeerCertificate,
} from 'node:tls';
import {
  CallCredentials,
  Channel,
  ChannelCredentials,
  credentials,
  experimental,
} from '@grpc/grpc-js';
import { errorMessage } from '../util/errors';
import type { CertificateProvider, ChannelOptions, Resolver, SecureConnector } from '.';
import type { CreateCall } from './subchannel-wrappers';

export function hasMethods<T extends object>(
  value: unknown,
  ...names: readonly (keyof T & string)[]
): value is T {
  return names.every((name) => typeof property(value, name) === 'function');
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** More layers of call credentials than any channel has, and more wrappers than any subchannel. */
const MAX_LAYERS = 100;

/**
 * Returns the credentials of the channel of a subchannel, without the call credentials that were combined with them.
 * grpc-js shows them in the private wrapper that it puts around each subchannel of a channel
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/internal-channel.ts,
 * `ChannelSubchannelWrapper`), which may be wrapped again.
 *
 * @returns `undefined` where they cannot be seen.
 */
export function channelCredentialsOf(subchannel: object): ChannelCredentials | undefined {
  for (const layer of layersOf(subchannel)) {
    const credentials = property(property(layer, 'channel'), 'credentials');
    if (credentials !== undefined) return withoutCallCredentials(credentials);
  }
  return undefined;
}

/** As {@link channelCredentialsOf}, with the call credentials that were combined with them. */
export function composedCredentialsOf(subchannel: object): ChannelCredentials | undefined {
  for (const layer of layersOf(subchannel)) {
    const credentials = property(property(layer, 'channel'), 'credentials');
    if (credentials instanceof ChannelCredentials) return credentials;
  }
  return undefined;
}

/** Returns a subchannel, the one it wraps, and so on to the one with the connection. */
function layersOf(subchannel: object): readonly unknown[] {
  const layers: unknown[] = [];
  let layer: unknown = subchannel;
  while (layer !== undefined && layers.length < MAX_LAYERS) {
    layers.push(layer);
    layer = property(layer, 'child');
  }
  return layers;
}

/**
 * Returns channel credentials without the call credentials that were combined with them. grpc-js has them inside the
 * private class of combined credentials
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/channel-credentials.ts,
 * `ComposedChannelCredentialsImpl`), which is recognised by how it prepares connections: an application may have credentials
 * with a member of the same name, and use it for something else.
 *
 * @returns `undefined` if they are not credentials of this copy of grpc-js.
 */
export function withoutCallCredentials(composed: unknown): ChannelCredentials | undefined {
  let credentials = composed;
  for (let layer = 0; layer < MAX_LAYERS; layer++) {
    if (!isCombined(credentials)) break;
    credentials = property(credentials, 'channelCredentials');
  }
  return credentials instanceof ChannelCredentials ? credentials : undefined;
}

/** Whether channel credentials are others of grpc-js that call credentials were combined with. */
function isCombined(value: unknown): boolean {
  combinedConnector ??= connectorCreatorOf(
    credentials
      .createFromSecureContext(createSecureContext())
      .compose(CallCredentials.createEmpty()),
  );
  return connectorCreatorOf(value) === combinedConnector;
}

/** How combined credentials prepare connections. */
let combinedConnector: unknown;

/**
 * Whether channel credentials secure connections as those of grpc-js do, which ignore arguments of this package: those of an
 * application may have others inside, which do not.
 */
export function secureAsHost(channelCredentials: ChannelCredentials): boolean {
  hostConnectors ??= new Set(
    [
      credentials.createInsecure(),
      credentials.createFromSecureContext(createSecureContext()),
      experimental.createCertificateProviderChannelCredentials(noCertificates, null),
    ].map(connectorCreatorOf),
  );
  return hostConnectors.has(connectorCreatorOf(channelCredentials));
}

function connectorCreatorOf(channelCredentials: unknown): unknown {
  return property(channelCredentials, '_createSecureConnector');
}

/** How credentials of grpc-js prepare connections. */
let hostConnectors: ReadonlySet<unknown> | undefined;

const noCertificates: CertificateProvider = {
  addCaCertificateListener() {},
  removeCaCertificateListener() {},
  addIdentityCertificateListener() {},
  removeIdentityCertificateListener() {},
};

/**
 * Returns the options that a subchannel was created with, which grpc-js keeps in a private field
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/subchannel.ts).
 *
 * @returns `undefined` where they cannot be seen.
 */
export function subchannelOptionsOf(subchannel: object): ChannelOptions | undefined {
  const options = property(layersOf(subchannel).at(-1), 'options');
  return isOptions(options) ? options : undefined;
}

/**
 * Whether the user of a subchannel has not released it. grpc-js counts references in the private wrapper that it creates
 * for each user
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/internal-channel.ts,
 * `ChannelSubchannelWrapper`).
 *
 * @returns `true` where they cannot be seen.
 */
export function isReferenced(subchannel: object): boolean {
  for (const layer of layersOf(subchannel)) {
    const count = property(layer, 'refCount');
    if (typeof count === 'number') return count > 0;
  }
  return true;
}

/**
 * Returns the certificate of the server of a connected subchannel. grpc-js reads it once for each connection, and keeps it
 * in the private transport
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/transport.ts, `getAuthContext`).
 *
 * @returns `undefined` where it cannot be seen, and where the connection has none that was verified.
 */
export function peerCertificateOf(subchannel: object): PeerCertificate | undefined {
  const transport = property(layersOf(subchannel).at(-1), 'transport');
  if (!hasMethods<{ getAuthContext(): unknown }>(transport, 'getAuthContext')) return undefined;
  const certificate = property(transport.getAuthContext(), 'sslPeerCertificate');
  return isCertificate(certificate) ? certificate : undefined;
}

function isCertificate(value: unknown): value is PeerCertificate {
  return Buffer.isBuffer(property(value, 'raw'));
}

/** Compares the name of a server with its certificate, as `tls.checkServerIdentity`. */
export type CheckServerIdentity = typeof checkServerIdentity;

/**
 * Returns how TLS credentials compare the name of a server with its certificate: the function that the application gave
 * them, which grpc-js keeps in a private field
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/channel-credentials.ts,
 * `verifyOptions`).
 *
 * @returns `undefined` if it gave none.
 */
export function serverIdentityCheckOf(
  credentials: ChannelCredentials,
): CheckServerIdentity | undefined {
  const options = property(credentials, 'verifyOptions');
  return hasMethods<{ checkServerIdentity: CheckServerIdentity }>(options, 'checkServerIdentity')
    ? options.checkServerIdentity
    : undefined;
}

/** Every member of the options is optional. */
function isOptions(value: unknown): value is ChannelOptions {
  return typeof value === 'object' && value !== null;
}

/**
 * Replaces what makes the connections of a subchannel, before it connects for the first time. grpc-js keeps it in a private
 * member
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/subchannel.ts, `secureConnector`).
 * Where it is missing, nothing is replaced.
 *
 * @param connection The real subchannel.
 */
export function replaceConnector(
  connection: object,
  replace: (connector: SecureConnector) => SecureConnector,
): void {
  const connector = property(connection, 'secureConnector');
  if (isSecureConnector(connector)) {
    Reflect.set(connection, 'secureConnector', replace(connector));
  }
}

function isSecureConnector(value: unknown): value is SecureConnector {
  return hasMethods<SecureConnector>(
    value,
    'connect',
    'waitForReady',
    'getCallCredentials',
    'destroy',
  );
}

type Call = ReturnType<CreateCall>;

/**
 * Excludes a call from those that keep the process alive: an open stream of this package is not a call of the
 * application. grpc-js counts calls in its private transport
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/transport.ts, `removeActiveCall`).
 * A call that is not counted gets no keepalive pings, and ends with its HTTP/2 stream. Where the method is missing,
 * the process stays alive until the connection is closed.
 *
 * @param connection The real subchannel of the call.
 */
export function putCallInBackground(connection: object, call: Call): void {
  const transport = property(connection, 'transport');
  if (hasMethods<{ removeActiveCall(call: Call): void }>(transport, 'removeActiveCall')) {
    transport.removeActiveCall(call);
  }
}

/**
 * Lets the process end although calls of a channel wait for a connection: those to management servers are no calls of the
 * application. grpc-js keeps the process alive by a timer of the private channel inside
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/internal-channel.ts, `callRefTimerRef`).
 * Where the method is missing, the process stays alive until the connection is made or given up.
 */
export function putQueueInBackground(channel: Channel): void {
  const inner = property(channel, 'internalChannel');
  if (hasMethods<{ callRefTimerRef(): void }>(inner, 'callRefTimerRef')) {
    inner.callRefTimerRef = () => undefined;
  }
}

/** What keeps the connections of a channel. */
interface SubchannelPool {
  getOrCreateSubchannel(target: unknown, address: object, ...rest: readonly unknown[]): unknown;
}

/**
 * Ends the connections of a channel that are being made when the signal is aborted. grpc-js forgets them, and they keep the process
 * alive until the operating system gives them up, which takes two minutes where packets are dropped. The private channel passes
 * addresses to its pool and from there to `net.connect`, which takes a signal
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/subchannel-pool.ts, `getOrCreateSubchannel`).
 * Where the method is missing, nothing is ended.
 *
 * @param channel One whose pool no other channel uses.
 */
export function endConnectingWith(channel: Channel, signal: AbortSignal): void {
  const pool = property(property(channel, 'internalChannel'), 'subchannelPool');
  if (!hasMethods<SubchannelPool>(pool, 'getOrCreateSubchannel')) return;
  const create = pool.getOrCreateSubchannel.bind(pool);
  // One for each address.
  setMaxListeners(0, signal);
  pool.getOrCreateSubchannel = (target, address, ...rest) =>
    create(target, { ...address, signal }, ...rest);
}

/**
 * Reports why a lookup of a DNS resolver of grpc-js failed. grpc-js 1.14 writes the cause only into its trace: its private
 * method `lookup` rejects with it, and the caller drops it
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/resolver-dns.ts, `startResolution`).
 * A resolver of the application, or of a version that looks names up in another way, is left unchanged: the message then
 * has the text of grpc-js alone.
 *
 * @param onFailure Called with the cause before the resolver reports the failure.
 * @returns whether it is one of grpc-js.
 */
export function watchLookups(resolver: Resolver, onFailure: (cause: string) => void): boolean {
  const lookUp: unknown = Reflect.get(resolver, 'lookup');
  if (typeof lookUp !== 'function') return false;
  Reflect.set(resolver, 'lookup', (...args: readonly unknown[]): unknown => {
    const result: unknown = Reflect.apply(lookUp, resolver, args);
    if (!(result instanceof Promise)) return result;
    return result.catch((error: unknown) => {
      onFailure(errorMessage(error));
      throw error;
    });
  });
  return true;
}

/** The maximum number of interceptors searched. */
const MAX_CALLS = 100;

/**
 * Returns the innermost of the private calls of grpc-js for a call that a server is answering
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/server-interceptors.ts,
 * `BaseServerInterceptingCall`).
 *
 * @param call What an interceptor is called with.
 */
export function baseCallOf(call: unknown): unknown {
  let inner = call;
  for (let i = 0; i < MAX_CALLS && property(inner, 'nextCall') !== undefined; i++) {
    inner = property(inner, 'nextCall');
  }
  return inner;
}

/**
 * Returns the HTTP/2 stream of a call that a server is answering.
 *
 * @param call What an interceptor is called with.
 * @returns `undefined` where it cannot be seen.
 */
export function streamOf(call: unknown): unknown {
  return property(baseCallOf(call), 'stream');
}

/**
 * Resets the HTTP/2 stream of a call that a server is answering, and so frees a response that the caller does not read.
 * A status would wait behind that response. Where the stream cannot be seen, the call lasts until the caller ends it.
 *
 * @param call What a handler is called with.
 * @param code Of HTTP/2. Default: the caller sees RESOURCE_EXHAUSTED.
 */
export function resetCall(call: object, code = constants.NGHTTP2_ENHANCE_YOUR_CALM): void {
  const stream = streamOf(property(call, 'call'));
  if (hasMethods<{ close(code: number): void }>(stream, 'close')) stream.close(code);
}

/**
 * Returns what carries a call that a server is answering: TLS, or a TCP or unix socket in plain text.
 *
 * @param call What an interceptor is called with.
 * @returns `undefined` for any other stream, which may have been decrypted before, and where it cannot be seen.
 */
export function carrierOf(call: object): 'tls' | 'plain' | undefined {
  const socket = property(property(streamOf(call), 'session'), 'socket');
  if (socket instanceof TLSSocket) return 'tls';
  // Node.js puts a subclass of its sockets around other streams.
  const isSocket = socket instanceof Socket && Object.getPrototypeOf(socket) === Socket.prototype;
  return isSocket ? 'plain' : undefined;
}

/**
 * Closes the connections that no policy uses any more. grpc-js does that every 10 s, and whenever a channel is closed
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/internal-channel.ts, `close`).
 */
export function closeUnusedConnections(): void {
  const options = { 'grpc.enable_channelz': 0 };
  new Channel('ipv4:127.0.0.1:1', credentials.createInsecure(), options).close();
}

/**
 * Keeps a connector of grpc-js from sending the address of a server as its name, which RFC 6066 forbids: Node.js warns of it
 * (DEP0123), and refuses it from version 26 on. The certificate is verified for the address as before. The options of the
 * connection are private
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/channel-credentials.ts,
 * `SecureConnectorImpl`).
 *
 * @returns the connector.
 */
export function withoutAddress(connector: SecureConnector): SecureConnector {
  const options = property(connector, 'connectionOptions');
  const name = property(options, 'servername');
  const hasName = typeof options === 'object' && options !== null && typeof name === 'string';
  if (hasName && isIP(name) !== 0) Object.assign(options, { servername: '', host: name });
  return connector;
}

/** Of channelz. */
interface ChildrenTracker {
  refChild(child: object): void;
  unrefChild(child: object): void;
}

/** A listen socket that channelz shows. */
export interface ShownListenSocket {
  /** Called after each injector with this listen socket was created. */
  onInjector(): void;
  release(): void;
}

/**
 * Shows a listen socket of a server in channelz, once, until it is released. grpc-js counts a reference for each injector and
 * drops it for none that shares the listen socket with others, so that the list of the server has it for ever
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/server.ts,
 * `experimentalCreateConnectionInjectorWithChannelzRef`). Where the private list cannot be seen, that stays so.
 */
export function showListenSocket(server: object, ref: object): ShownListenSocket {
  const tracker = property(server, 'listenerChildrenTracker');
  if (!hasMethods<ChildrenTracker>(tracker, 'refChild', 'unrefChild')) {
    return { onInjector: () => undefined, release: () => undefined };
  }
  tracker.refChild(ref);
  const unref = () => tracker.unrefChild(ref);
  return { onInjector: unref, release: unref };
}
