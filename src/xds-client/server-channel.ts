import type { ServerConfig } from '../bootstrap/bootstrap';
import type { Node } from '../wire/generated/envoy/config/core/v3/base';
import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import type { Random } from '../util/random';
import { ok, type Result } from '../util/result';
import type { SerialQueue } from '../util/serial-queue';
import { toIso, withSince } from '../util/since';
import type { AdsResponse } from './ads/ads-response';
import { AdsStream, type AdsStreamSnapshot } from './ads/ads-stream';
import {
  decideVerdict,
  UNREQUESTED,
  type AdsStreamHandler,
  type ResourceKey,
  type ResponseReading,
  type Verdict,
} from './ads/verdict';
import { type ServerPolicy, VariantChoice } from './server-policy';
import { type ReadContext, readResponse, type ReadResponse } from './ads/response-reader';
import {
  type Channel,
  type ChannelResource,
  ChannelResources,
  type ChannelResourceOptions,
  type ResourceSubscriber,
} from './channel-resource';
import { ChannelLog } from './channel-log';
import { diagnostics, type ServerEvent } from './diagnostics';
import type { Logger } from '../util/logger';
import type { ChangeHistory } from './change-history';
import type { ClientEvents, ServerSnapshot } from './client-snapshot';
import type { ParseResourceName } from './resource-name';
import type { CertificateProviders, DiscoveryService, ResourceType } from './resource-type';
import { ReservedElements, type Budgets } from './budgets';
import type { XdsTransport, XdsTransportFactory } from './transport';
import { describeServer, describeSilence, type ResourceId } from './xds-errors';
import { inSeconds } from '../util/duration';

/** Constructor options of a channel. */
export interface ServerChannelOptions extends Omit<
  ChannelResourceOptions,
  'channel' | 'listener' | 'elements' | 'cacheLimit'
> {
  readonly logger: Logger;
  readonly history: ChangeHistory;
  readonly certificateProviders: CertificateProviders;
  readonly server: ServerConfig;
  readonly policy: ServerPolicy;
  readonly node: Node;
  readonly parseName: ParseResourceName;
  /** Keys of servers that were found not to have the incremental variant; added to. */
  readonly withoutDelta: Set<string>;
  readonly transportFactory: XdsTransportFactory;
  readonly queue: SerialQueue;
  readonly budgets: Budgets;
  readonly random: Random;
  readonly events: ClientEvents;
  /** Returns whether calls fail or wait for want of a change: see `XdsClient.hurry`. */
  readonly isAwaited: () => boolean;
}

const AGGREGATED: DiscoveryService = {
  service: 'envoy.service.discovery.v3.AggregatedDiscoveryService',
  noun: 'AggregatedResources',
};

/** Uses a management server for one target. */
export interface ServerObserver {
  /**
   * Called in the queue with every response, before its resources are read, and when the server has become unreachable,
   * or is so for another reason: see `ServerChannel.failure`.
   */
  onServerStateChanged(channel: ServerChannel): void;
}

/** The subscription of one target to one resource at one server. */
export interface ChannelSubscription extends Handle {
  /** If the server has sent it, or failed to, for another target, it is not sent again. */
  readonly resource: ChannelResource;
}

/**
 * One management server, for every target and authority that uses it (gRFCs A47 and A71): the connection, the resources
 * subscribed to and received, and whether the server is reachable. Normally there is one stream; a server with separate
 * streams has one for each type.
 */
export class ServerChannel implements Channel {
  readonly server: ServerConfig;
  readonly policy: ServerPolicy;
  /** Names the server and the node in messages. */
  readonly description: string;
  private readonly resources: ChannelResources;
  private readonly observers = new Set<ServerObserver>();
  private readonly variant: VariantChoice;
  private readonly streams = new Map<DiscoveryService, AdsStream>();
  private readonly health: ServerHealth<DiscoveryService>;
  private readonly log: ChannelLog;
  private readonly events: ClientEvents;
  private transport: XdsTransport | undefined;
  /** A target has used another server since this one was last reachable: it has resources that this one did not send. */
  private wasLeft = false;

  constructor(private readonly options: ServerChannelOptions) {
    const { server, policy, node, withoutDelta, logger, events } = options;
    const description = describeServer(server, node.id);
    this.server = server;
    this.policy = policy;
    this.description = description;
    const { clock, history } = options;
    const { elements, cacheLimit } = options.budgets;
    this.log = new ChannelLog({ channel: this, clock, logger, history });
    const listener = this.log;
    this.resources = new ChannelResources({
      channel: this,
      clock,
      listener,
      elements,
      cacheLimit,
    });
    this.events = {
      onServerFailure: (failed) => this.attempt(() => events.onServerFailure(failed)),
      onResponse: (from, typeUrl, valid, invalid) =>
        this.attempt(() => events.onResponse(from, typeUrl, valid, invalid)),
    };
    const health = { server, description, nodeId: node.id, clock, logger, events: this.events };
    this.health = new ServerHealth(health);
    const mode = policy.delta;
    this.variant = new VariantChoice({ mode, node, withoutDelta, serverKey: server.key });
  }

  /** Why the server cannot be used now, as a sentence; `undefined` if no stream has failed. */
  get failure(): string | undefined {
    return this.health.failure;
  }

  /** Adds an observer, until the handle is released. */
  observe(observer: ServerObserver): Handle {
    this.observers.add(observer);
    return { release: () => this.observers.delete(observer) };
  }

  /** Requests a resource for a subscriber, unless it is requested already. */
  subscribe(
    type: ResourceType<unknown>,
    name: string,
    subscriber: ResourceSubscriber,
  ): ChannelSubscription {
    const isKnown = this.resources.get(type.typeUrl, name) !== undefined;
    const resource = this.resources.add(type, name, subscriber);
    if (!isKnown) this.streamOf(type).addName(type.typeUrl, name);
    return new Subscription(resource, subscriber, this);
  }

  /** Ends a subscription; see `ChannelSubscription`. */
  unsubscribe(resource: ChannelResource, subscriber: ResourceSubscriber): void {
    if (!this.resources.remove(resource, subscriber)) return;
    const { type, name } = resource;
    this.streams.get(this.serviceOf(type))?.removeName(type.typeUrl, name);
  }

  /** Rejects the latest response of a type, which was acknowledged: see `XdsClient.reject`. */
  reject(typeUrl: string, reason: string): void {
    const type = this.resources.type(typeUrl);
    if (type !== undefined) this.streams.get(this.serviceOf(type))?.reject(typeUrl, reason);
  }

  /** Ends pauses between streams. */
  hurry(): void {
    for (const stream of this.streams.values()) stream.hurry();
  }

  /** Handles that a target uses the resources of another server instead. See `AdsStream.forgetVersions`. */
  forgetVersions(): void {
    this.wasLeft = true;
    for (const stream of this.streams.values()) stream.forgetVersions();
  }

  /** Sends and reads what is due; see `AdsStream.flush`. */
  flush(): void {
    for (const stream of this.streams.values()) stream.flush();
  }

  /** Closes the streams and the connection. */
  close(): void {
    for (const stream of this.streams.values()) stream.close();
    this.transport?.close();
  }

  /** A copy for diagnostics. Of several streams, the one that is furthest from working. */
  snapshot(): ServerSnapshot {
    const { serverUri } = this.server;
    const states = [...this.streams.values()].map((stream) => stream.snapshot());
    const [worst] = states.sort((a, b) => PROGRESS.indexOf(a.state) - PROGRESS.indexOf(b.state));
    const { state, retryInMs, displaced: shortStreams } = worst ?? NO_STREAM;
    const { failure: lastError, failingSince } = this.health;
    return { serverUri, state, lastError, failingSince, retryInMs, shortStreams };
  }

  /** Describes what a pending resource waits for, as the end of a sentence. */
  describeWait(type: ResourceType<unknown>, name: string): string {
    const service = this.serviceOf(type);
    const stream = this.streams.get(service);
    const { state, retryInMs, hasAnswered } = stream?.snapshot() ?? NO_STREAM;
    if (retryInMs !== undefined) {
      const cause = this.health.failureOf(service) ?? `${this.description} ended the stream`;
      return `${cause}; next attempt in ${inSeconds(retryInMs)}`;
    }
    if (state !== 'open')
      return `connecting to ${this.description}: check server_uri and the network`;
    const remainingMs = stream?.remainingMs(type.typeUrl, name);
    const outlook = remainingMs === undefined ? '' : `; giving up in ${inSeconds(remainingMs)}`;
    return `${this.description} ${describeSilence(hasAnswered)}${outlook}`;
  }

  private serviceOf(type: ResourceType<unknown>): DiscoveryService {
    return (this.policy.separateStreams && type.discoveryService) || AGGREGATED;
  }

  private streamOf(type: ResourceType<unknown>): AdsStream {
    const service = this.serviceOf(type);
    let stream = this.streams.get(service);
    if (stream === undefined) {
      stream = this.createStream(service);
      this.streams.set(service, stream);
    }
    return stream;
  }

  private createStream(service: DiscoveryService): AdsStream {
    const { queue, budgets, clock, random, isAwaited } = this.options;
    const { time } = budgets;
    const { resources, variant } = this;
    return new AdsStream({
      handler: this.createHandler(service),
      source: {
        typeUrls: () => resources.typeUrls((type) => this.serviceOf(type) === service),
        resources: (typeUrl) => resources.ofType(typeUrl),
        onVersionsLeftOut: (typeUrl, count) => this.log.versionsLeftOut(typeUrl, count),
      },
      connect: () => this.connect(),
      method: (verb) => `/${service.service}/${verb}${service.noun}`,
      resourceTimeoutMs: this.policy.resourceTimeoutMs,
      variant,
      queue,
      time,
      clock,
      random,
      isAwaited,
    });
  }

  private createHandler(service: DiscoveryService): AdsStreamHandler {
    return {
      onResponse: (response) => this.startReading(response),
      onStateChanged: (change) => {
        if (change.kind === 'reachable') this.onReachable(service);
        else if (change.kind === 'displaced') this.log.displaced(change.lastAgeMs);
        else this.onFailed(service, change.reason, change.retryInMs);
      },
      onTimeout: (key, kind, serverAnswered) => {
        if (kind === 'overdue') this.log.overdue(this.idOf(key));
        else this.resources.get(key.typeUrl, key.name)?.timeOut(serverAnswered);
      },
      onError: (error) => this.log.bug('stream', error),
    };
  }

  private startReading(response: AdsResponse): ResponseReading {
    const { typeUrl, isRequested } = response;
    const { resources } = this;
    const type = resources.type(typeUrl);
    if (!isRequested || type === undefined) {
      this.log.unrequested(typeUrl);
      return { next: () => UNREQUESTED, release() {} };
    }
    // Names may be added while the response is read.
    const { latestPosition } = resources;
    const elements = new ReservedElements(this.options.budgets.elements);
    const steps = readResponse(response, this.readContext(type, elements));
    return {
      next: () => {
        const step = steps.next();
        if (step.done !== true) return undefined;
        elements.release();
        return this.apply(response, step.value, latestPosition);
      },
      release: () => elements.release(),
    };
  }

  /** Applies a response. @param latestPosition When it arrived. */
  private apply(response: AdsResponse, read: ReadResponse, latestPosition: number): Verdict {
    const { typeUrl, version } = response;
    const { resources } = this;
    const verdict = decideVerdict(read, resources.ofType(typeUrl), latestPosition);
    resources.onResponse(typeUrl, version, read, latestPosition);
    this.events.onResponse(this.server, typeUrl, countValid(read), read.invalid);
    this.log.answer(response, verdict.answer);
    return verdict;
  }

  private readContext(type: ResourceType<unknown>, elements: ReservedElements): ReadContext {
    const { server, policy, description, resources } = this;
    const { certificateProviders, parseName, clock } = this.options;
    return {
      type,
      server,
      certificateProviders,
      parseName,
      origin: { server: description, policy, nowMs: clock.now() },
      resources: resources.ofType(type.typeUrl),
      order: resources.orderOf(type.typeUrl),
      elements,
      cacheLimit: this.options.budgets.cacheLimit,
      onError: (subject, error) => this.log.bug(subject, error),
    };
  }

  private onFailed(service: DiscoveryService, reason: string, retryInMs: number): void {
    this.log.trace(() => `${reason}; next attempt in ${inSeconds(retryInMs)}`);
    if (this.health.onFailed(service, reason, retryInMs)) this.notifyObservers();
  }

  private notifyObservers(): void {
    for (const observer of this.observers) {
      this.attempt(() => observer.onServerStateChanged(this));
    }
  }

  /** Runs what others make of an event. An exception in it does not keep the rest from running. */
  private attempt(notify: () => void): void {
    try {
      notify();
    } catch (error) {
      this.log.bug('event', error);
    }
  }

  private onReachable(service: DiscoveryService): void {
    if (!this.health.onReachable(service)) return;
    this.notifyObservers();
    if (!this.wasLeft) return;
    this.wasLeft = false;
    for (const [other, stream] of this.streams) if (other !== service) stream.renew();
  }

  private connect(): Result<XdsTransport, string> {
    if (this.transport !== undefined) return ok(this.transport);
    const made = this.options.transportFactory.create(this.server);
    if (made.ok) this.transport = made.value;
    return made;
  }

  private idOf({ typeUrl, name }: ResourceKey): ResourceId {
    return { typeName: this.resources.type(typeUrl)?.typeName ?? typeUrl, name };
  }
}

class Subscription implements ChannelSubscription {
  constructor(
    readonly resource: ChannelResource,
    private readonly subscriber: ResourceSubscriber,
    private readonly channel: ServerChannel,
  ) {}

  release(): void {
    this.channel.unsubscribe(this.resource, this.subscriber);
  }
}

const NO_STREAM: AdsStreamSnapshot = {
  state: 'idle',
  retryInMs: undefined,
  hasAnswered: false,
  displaced: 0,
};

/** The states of a stream, from the one that is furthest from working. */
const PROGRESS = ['closed', 'backoff', 'idle', 'connecting', 'open'];

function countValid({ events }: ReadResponse): number {
  let valid = 0;
  for (const { kind } of events.values()) if (kind === 'accepted') valid++;
  return valid;
}

/** Constructor options of a server's health. */
interface ServerHealthOptions {
  readonly server: ServerConfig;
  /** Names the server and the node in messages. */
  readonly description: string;
  readonly nodeId: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: ClientEvents;
}

/** Whether a server is reachable, on each of its streams, in the log and for diagnostics. */
class ServerHealth<K> {
  /** Why the last attempt has failed, by stream, until the server answers. */
  private readonly failures = new Map<K, string>();
  /** When the first of them was, in milliseconds since the epoch; `undefined` if there is none. */
  private sinceMs: number | undefined;
  private everAnswered = false;

  constructor(private readonly options: ServerHealthOptions) {}

  /** Why the server cannot be used now, as a sentence; `undefined` if no stream has failed. */
  get failure(): string | undefined {
    for (const failure of this.failures.values()) return failure;
    return undefined;
  }

  /** Since when the server has been failing, in ISO 8601; `undefined` if it is not. */
  get failingSince(): string | undefined {
    return this.sinceMs === undefined ? undefined : toIso(this.sinceMs);
  }

  /** Why one stream has failed. */
  failureOf(stream: K): string | undefined {
    return this.failures.get(stream);
  }

  /** Handles that a stream has failed. @returns whether the reason is new: several streams on one connection fail alike. */
  onFailed(stream: K, reason: string, retryInMs: number): boolean {
    const { server, description, clock, logger, events } = this.options;
    this.sinceMs ??= clock.now();
    const failure = withSince(`${description} ${reason}`, this.sinceMs);
    const isKnown = [...this.failures.values()].includes(failure);
    const isFirst = this.failures.size === 0;
    this.failures.set(stream, failure);
    if (isFirst) events.onServerFailure(server);
    if (isKnown) return false;
    logger.error(() => `${failure}; next attempt in ${inSeconds(retryInMs)}`, {
      event: 'server-failed',
      ...this.eventBase(),
      error: failure,
      retryInMs,
    });
    if (diagnostics.serverFailed.hasSubscribers) {
      diagnostics.serverFailed.publish({ ...this.eventBase(), error: failure, retryInMs });
    }
    return true;
  }

  /** Handles that a stream works. @returns whether no other one is known to have failed. */
  onReachable(stream: K): boolean {
    const hadFailed = this.failures.delete(stream);
    if (this.failures.size > 0) return false;
    this.sinceMs = undefined;
    const { description, logger } = this.options;
    if (hadFailed) {
      const fields = { event: 'server-recovered', ...this.eventBase() };
      logger.info(() => `${description} answers again`, fields);
    }
    if ((hadFailed || !this.everAnswered) && diagnostics.serverConnected.hasSubscribers) {
      diagnostics.serverConnected.publish(this.eventBase());
    }
    this.everAnswered = true;
    return true;
  }

  private eventBase(): ServerEvent {
    const { server, nodeId } = this.options;
    return { nodeId, serverUri: server.serverUri };
  }
}
