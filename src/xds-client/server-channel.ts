import type { ServerConfig } from '../bootstrap/bootstrap';
import type { Node } from '../generated/envoy/config/core/v3/base';
import type { DiscoveryResponse } from '../generated/envoy/service/discovery/v3/discovery';
import type { Clock } from '../util/clock';
import type { Logger } from '../util/logger';
import type { Random } from '../util/random';
import { ok, type Result } from '../util/result';
import type { SerialQueue } from '../util/serial-queue';
import { parseResponse, readResources, type ReadResources } from './ads-response';
import { AdsStream } from './ads-stream';
import type { AdsStreamHandler, Verdict } from './ads-stream-handler';
import { AdsSubscriptions } from './ads-subscriptions';
import type { ClientEvents } from './client-events';
import type { ServerSnapshot } from './client-snapshot';
import type { Accepted } from './resource-state';
import type { ResourceType } from './resource-type';
import type { ServerPolicy } from './server-policy';
import type { XdsTransport, XdsTransportFactory } from './transport';
import { describeServer, joinBounded } from './xds-errors';

/** What a response says about the resources of one type. */
export interface ResourcesUpdate {
  readonly read: ReadResources;
  readonly type: ResourceType<unknown>;
  readonly version: string;
}

/** Who uses a channel. All methods are called from the client's queue. */
export interface ChannelListener {
  /** The value in use of a resource subscribed to. */
  cached(typeUrl: string, name: string): Accepted<unknown> | undefined;
  /** The server has answered, whatever it has said. */
  onServerResponded(channel: ServerChannel): void;
  /** A server has become unreachable, or is so for another reason now: see `ServerChannel.failure`. */
  onServerFailed(): void;
  /** A response was read; it may be about resources of others. */
  onResources(channel: ServerChannel, update: ResourcesUpdate): void;
  /** A resource subscribed to was not sent in time. */
  onResourceTimeout(
    channel: ServerChannel,
    typeUrl: string,
    name: string,
    serverAnswered: boolean,
  ): void;
}

/** What a channel is made of. */
export interface ServerChannelOptions {
  readonly server: ServerConfig;
  readonly policy: ServerPolicy;
  readonly node: Node;
  readonly transportFactory: XdsTransportFactory;
  readonly queue: SerialQueue;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly events: ClientEvents;
}

const TRACER = 'xds_client';

/**
 * All dealings with one management server, for every authority that uses it (gRFC A47): the connection, what
 * is subscribed to, the judgement of responses, and whether the server is well.
 */
export class ServerChannel implements AdsStreamHandler {
  readonly server: ServerConfig;
  readonly policy: ServerPolicy;
  /** Names the server and the node in messages. */
  readonly description: string;
  private readonly subscriptions = new AdsSubscriptions<ChannelListener>();
  private readonly listeners = new Set<ChannelListener>();
  private readonly stream: AdsStream;
  private transport: XdsTransport | undefined;
  private currentFailure: string | undefined;
  /** The rejections last logged, by type, so that each is logged once. */
  private readonly loggedRejections = new Map<string, string>();

  constructor(private readonly options: ServerChannelOptions) {
    const { server, policy, node, queue, clock, random } = options;
    this.server = server;
    this.policy = policy;
    this.description = describeServer(server, node.id);
    this.stream = new AdsStream({
      handler: this,
      connect: () => this.connect(),
      node,
      queue,
      clock,
      random,
      resourceTimeoutMs: policy.resourceTimeoutMs,
    });
  }

  /** Why nothing can be had from the server now, as a sentence; `undefined` if nothing is known against it. */
  get failure(): string | undefined {
    return this.currentFailure;
  }

  /** Adds somebody to be told what the server does. */
  attach(listener: ChannelListener): void {
    this.listeners.add(listener);
  }

  /** Takes somebody away, who must have unsubscribed from everything. */
  detach(listener: ChannelListener): void {
    this.listeners.delete(listener);
  }

  /** Asks for a resource. */
  subscribe(type: ResourceType<unknown>, name: string, listener: ChannelListener): void {
    this.subscriptions.add(type, name, listener);
    this.stream.addName(type.typeUrl);
  }

  /** Asks for a resource no longer. */
  unsubscribe(typeUrl: string, name: string): void {
    this.subscriptions.remove(typeUrl, name);
    this.stream.dropName(typeUrl, name);
  }

  /** See `AdsStream.forgetVersions`. */
  forgetVersions(): void {
    this.stream.forgetVersions();
  }

  /** Does what has become due; see `AdsStream.flush`. */
  flush(): void {
    this.stream.flush();
  }

  /** Closes the stream and the connection. */
  close(): void {
    this.stream.close();
    this.transport?.close();
  }

  /** A copy for diagnostics. */
  snapshot(): ServerSnapshot {
    const { state, retryInMs } = this.stream.snapshot();
    const { serverUri } = this.server;
    return { serverUri, state, lastError: this.currentFailure, retryInMs };
  }

  /** What a wait for a resource from this server is a wait for, as the end of a sentence. */
  describeWait(typeUrl: string, name: string): string {
    const { state, retryInMs, sawResponse } = this.stream.snapshot();
    if (retryInMs !== undefined) {
      const cause = this.currentFailure ?? `${this.description} ended the stream`;
      return `${cause}; next attempt in ${inSeconds(retryInMs)}`;
    }
    if (state !== 'open') return `connecting to ${this.description}`;
    const fact = sawResponse ? 'has not sent it' : 'has not answered this node yet';
    const remainingMs = this.stream.remainingMs(typeUrl, name);
    const outlook = remainingMs === undefined ? '' : `; giving up in ${inSeconds(remainingMs)}`;
    return `${this.description} ${fact}${outlook}`;
  }

  names(typeUrl: string): string[] {
    return this.subscriptions.names(typeUrl);
  }

  typeUrls(): string[] {
    return this.subscriptions.typeUrls();
  }

  isMissing(typeUrl: string, name: string): boolean {
    const listener = this.subscriptions.get(typeUrl, name);
    return listener !== undefined && listener.cached(typeUrl, name) === undefined;
  }

  onResponse(bytes: Uint8Array): Verdict {
    const response = parseResponse(bytes);
    if (!response.ok) return { kind: 'unreadable', message: response.error };
    this.recover();
    for (const listener of this.listeners) listener.onServerResponded(this);
    const { typeUrl, nonce, versionInfo } = response.value;
    const type = this.subscriptions.type(typeUrl);
    if (type === undefined) {
      const message = `type_url "${typeUrl}" was not asked for`;
      this.logRejection(typeUrl, message);
      return { kind: 'rejected', typeUrl, nonce, message };
    }
    const read = this.read(response.value, type);
    const { violations } = read;
    if (violations.length > 0) {
      const message = joinBounded(violations);
      this.logRejection(typeUrl, message);
      return { kind: 'rejected', typeUrl, nonce, message };
    }
    this.loggedRejections.delete(typeUrl);
    this.trace(() => `accepted version "${versionInfo}" of ${typeUrl}`);
    return { kind: 'accepted', typeUrl, nonce, version: versionInfo };
  }

  onFailure(reason: string, retryInMs: number): void {
    const failure = `${this.description} ${reason}`;
    const before = this.currentFailure;
    this.currentFailure = failure;
    this.trace(() => `${reason}; next attempt in ${inSeconds(retryInMs)}`);
    if (before === undefined) this.options.events.onServerFailure(this.server);
    if (before === failure) return;
    this.options.logger.error(() => `${failure}; next attempt in ${inSeconds(retryInMs)}`);
    for (const listener of this.listeners) listener.onServerFailed();
  }

  onResourceTimeout(typeUrl: string, name: string, serverAnswered: boolean): void {
    this.subscriptions.get(typeUrl, name)?.onResourceTimeout(this, typeUrl, name, serverAnswered);
  }

  private connect(): Result<XdsTransport, string> {
    if (this.transport !== undefined) return ok(this.transport);
    const made = this.options.transportFactory.create(this.server);
    if (made.ok) this.transport = made.value;
    return made;
  }

  private recover(): void {
    if (this.currentFailure === undefined) return;
    this.currentFailure = undefined;
    this.options.logger.info(() => `${this.description} answers again`);
  }

  private read(response: DiscoveryResponse, type: ResourceType<unknown>): ReadResources {
    const { typeUrl } = type;
    const read = readResources(response, {
      type,
      server: this.server,
      nowMs: this.options.clock.now(),
      readResourceErrors: this.policy.readResourceErrors,
      isWanted: (name) => this.subscriptions.get(typeUrl, name) !== undefined,
      cached: (name) => this.subscriptions.get(typeUrl, name)?.cached(typeUrl, name),
    });
    let valid = 0;
    for (const [name, outcome] of read.outcomes) {
      if (outcome.kind === 'accepted') valid++;
      this.stream.settle(typeUrl, name);
    }
    const update: ResourcesUpdate = { read, type, version: response.versionInfo };
    for (const listener of this.listeners) listener.onResources(this, update);
    this.options.events.onResponse(this.server, typeUrl, valid, read.invalid);
    return read;
  }

  private logRejection(typeUrl: string, message: string): void {
    if (this.loggedRejections.get(typeUrl) === message) return;
    this.loggedRejections.set(typeUrl, message);
    this.options.logger.error(() => `update from ${this.description} rejected (NACK): ${message}`);
  }

  private trace(text: () => string): void {
    this.options.logger.trace(TRACER, () => `${this.description}: ${text()}`);
  }
}

function inSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
