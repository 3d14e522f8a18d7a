import type { ServerConfig } from '../bootstrap/bootstrap';
import { inSeconds } from '../util/duration';
import type { Handle } from '../util/handle';
import { ok, type Result } from '../util/result';
import { toIso } from '../util/since';
import { ResponseOrder, type AdsResponse } from './ads/ads-response';
import { AdsStream, type AdsChannel, type AdsStreamSnapshot } from './ads/ads-stream';
import type { ReadContext, ResponseContent } from './ads/read-response';
import { decideAck, type AckDecision } from './ads/ack-decision';
import { ChannelLog } from './channel-log';
import { ChannelResource, type Channel, type ResourceSubscriber } from './channel-resource';
import type { ClientContext } from './client-context';
import type { ServerSnapshot } from './client-snapshot';
import type { DiscoveryService, ResourceType } from './resource-type';
import { VariantChoice, type ServerPolicy } from './server-policy';
import type { XdsTransport } from './transport';
import { describeFailure, describeServer, describeSilence, type ServerFailure } from './xds-errors';

const AGGREGATED: DiscoveryService = {
  service: 'envoy.service.discovery.v3.AggregatedDiscoveryService',
  noun: 'AggregatedResources',
};

/** Uses a management server for one target. */
export interface ServerObserver {
  /**
   * Called in the serializer when the server becomes unreachable, fails for another reason, or answers again: see `XdsChannel.failure`.
   */
  onServerStateChanged(channel: XdsChannel): void;
}

/** The resources of one type, subscribed to at one server. They survive streams. */
interface TypeResources {
  readonly type: ResourceType<unknown>;
  readonly byName: Map<string, ChannelResource>;
  /** The order of the resources in the latest response. */
  readonly order: ResponseOrder;
}

const NO_RESOURCES: ReadonlyMap<string, ChannelResource> = new Map();

/**
 * One management server, for every target and authority that uses it (gRFCs A47 and A71): the connection, the resources
 * subscribed to and received, and whether the server is reachable. Normally there is one stream; a server with separate
 * streams has one for each type.
 */
export class XdsChannel implements Channel, AdsChannel {
  /** Names the server and the node in messages. */
  readonly description: string;
  readonly log: ChannelLog;
  readonly variant: VariantChoice;
  /** The position of the resource subscribed to last; see `ChannelResource`. */
  latestPosition = 0;
  /** A type stays known when its last resource is released, because a response of it may be on its way. */
  private readonly types = new Map<string, TypeResources>();
  private readonly observers = new Set<ServerObserver>();
  private readonly streams = new Map<DiscoveryService, AdsStream>();
  private transport: XdsTransport | undefined;
  /** Time of the first failure since the server last worked, in milliseconds since the epoch. */
  private failingSinceMs: number | undefined;
  private hasEverAnswered = false;
  /** Whether a target has used another server since this one was last reachable: the target may have resources that this server did not send. */
  private targetFellBack = false;

  constructor(
    readonly server: ServerConfig,
    readonly policy: ServerPolicy,
    readonly context: ClientContext,
  ) {
    this.description = describeServer(server, context.node.id);
    this.log = new ChannelLog(this, context);
    this.variant = new VariantChoice(server.key, policy.delta, context);
  }

  /** Why the server cannot be used now; `undefined` if no stream has failed. */
  get failure(): ServerFailure | undefined {
    for (const { failure } of this.streams.values()) if (failure !== undefined) return failure;
    return undefined;
  }

  /** Adds an observer, until the handle is released. */
  observe(observer: ServerObserver): Handle {
    this.observers.add(observer);
    return { release: () => this.observers.delete(observer) };
  }

  /**
   * Requests a resource for a subscriber, unless it is requested already. If the server has sent it, or failed to, for another
   * target, it is not sent again.
   */
  subscribe(
    type: ResourceType<unknown>,
    name: string,
    subscriber: ResourceSubscriber,
  ): ChannelResource {
    const { typeUrl } = type;
    let ofType = this.types.get(typeUrl);
    if (ofType === undefined) {
      ofType = { type, byName: new Map(), order: new ResponseOrder(typeUrl) };
      this.types.set(typeUrl, ofType);
    }
    let resource = ofType.byName.get(name);
    if (resource === undefined) {
      resource = new ChannelResource(type, name, ++this.latestPosition, this);
      ofType.byName.set(name, resource);
      this.streamOf(type).addName(typeUrl, name);
    }
    resource.subscribers.add(subscriber);
    return resource;
  }

  unsubscribe(resource: ChannelResource, subscriber: ResourceSubscriber): void {
    const { type, name, subscribers } = resource;
    if (!subscribers.delete(subscriber) || subscribers.size > 0) return;
    this.types.get(type.typeUrl)?.byName.delete(name);
    resource.release();
    this.streams.get(this.serviceOf(type))?.removeName(type.typeUrl, name);
  }

  /** Rejects the latest response of a type, which was acknowledged: see `XdsClient.reject`. */
  reject(typeUrl: string, reason: string): void {
    const ofType = this.types.get(typeUrl);
    if (ofType !== undefined) {
      this.streams.get(this.serviceOf(ofType.type))?.reject(typeUrl, reason);
    }
  }

  /** Ends pauses between streams. */
  hurry(): void {
    for (const stream of this.streams.values()) stream.hurry();
  }

  /** Handles that a target uses the resources of another server instead. See `AdsStream.forgetVersions`. */
  forgetVersions(): void {
    this.targetFellBack = true;
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
    const { failure, description, failingSinceMs: sinceMs } = this;
    const unsteady = worst?.isUnsteady === true ? `${description} ${worst.lastError}` : undefined;
    const lastError = failure ? describeFailure(failure) : unsteady;
    const failingSince = sinceMs === undefined ? undefined : toIso(sinceMs);
    return { serverUri, state, lastError, failingSince, retryInMs, shortStreams };
  }

  /** Describes what a pending resource waits for, as the end of a sentence. */
  describeWait(type: ResourceType<unknown>, name: string): string {
    const stream = this.streams.get(this.serviceOf(type));
    const snapshot = stream?.snapshot() ?? NO_STREAM;
    const { state, retryInMs, hasAnswered, lastError, isUnsteady } = snapshot;
    if (retryInMs !== undefined) {
      const cause = stream?.failure
        ? describeFailure(stream.failure)
        : `${this.description} ${lastError ?? 'ended the stream'}`;
      return `${cause}; next attempt in ${inSeconds(retryInMs)}`;
    }
    if (state !== 'open')
      return `connecting to ${this.description}: check server_uri and the network`;
    const remainingMs = stream?.remainingMs(type.typeUrl, name);
    const outlook = remainingMs === undefined ? '' : `; giving up in ${inSeconds(remainingMs)}`;
    const fact = isUnsteady ? lastError : describeSilence(hasAnswered);
    return `${this.description} ${fact}${outlook}`;
  }

  requestedTypes(service: DiscoveryService): string[] {
    const typeUrls: string[] = [];
    for (const [typeUrl, { type, byName }] of this.types) {
      if (byName.size > 0 && this.serviceOf(type) === service) typeUrls.push(typeUrl);
    }
    return typeUrls;
  }

  resources(typeUrl: string): ReadonlyMap<string, ChannelResource> {
    return this.types.get(typeUrl)?.byName ?? NO_RESOURCES;
  }

  readContext(typeUrl: string): ReadContext | undefined {
    const ofType = this.types.get(typeUrl);
    if (ofType === undefined) return undefined;
    const { server, policy, description } = this;
    const { certificateProviders, parseName, clock, budgets } = this.context;
    return {
      type: ofType.type,
      server,
      certificateProviders,
      parseName,
      origin: { server: description, policy, nowMs: clock.now() },
      resources: ofType.byName,
      order: ofType.order,
      elements: budgets.elements,
      cacheLimit: budgets.cacheLimit,
      onError: (subject, error) => this.log.bug(subject, error),
    };
  }

  /**
   * Applies a decoded response and decides between ACK and NACK. Resources subscribed to since it arrived are not removed by it.
   */
  onRead(response: AdsResponse, read: ResponseContent, latestPosition: number): AckDecision {
    const { typeUrl } = response;
    const { events, removed, leftOut } = read;
    const resources = this.resources(typeUrl);
    const decision = decideAck(read, resources, latestPosition);
    for (const [name, event] of events) resources.get(name)?.apply(event);
    for (const removals of [removed, leftOut]) {
      for (const [name, event] of removals) {
        if (decision.wasRequested(name)) resources.get(name)?.apply(event);
      }
    }
    this.countResponse(typeUrl, read);
    this.log.answer(response, decision.answer);
    return decision;
  }

  connect(): Result<XdsTransport, string> {
    if (this.transport !== undefined) return ok(this.transport);
    const made = this.context.transportFactory.create(this.server);
    if (made.ok) this.transport = made.value;
    return made;
  }

  onReachable(stream: AdsStream): void {
    const hadFailed = stream.failure !== undefined;
    if (!hadFailed && this.hasEverAnswered) return;
    stream.failure = undefined;
    if (this.failure !== undefined) return;
    this.failingSinceMs = undefined;
    this.hasEverAnswered = true;
    this.log.reachable(hadFailed);
    this.notifyObservers();
    if (!this.targetFellBack) return;
    this.targetFellBack = false;
    for (const other of this.streams.values()) if (other !== stream) other.renew();
  }

  /** Several streams on one connection fail alike, of which only the first is news. */
  onFailed(stream: AdsStream, reason: string, retryInMs: number): void {
    this.log.trace(() => `${reason}; next attempt in ${inSeconds(retryInMs)}`);
    this.failingSinceMs ??= this.context.clock.now();
    const failure = { text: `${this.description} ${reason}`, sinceMs: this.failingSinceMs };
    const texts = [...this.streams.values()].map((each) => each.failure?.text);
    stream.failure = failure;
    if (!texts.some(Boolean)) {
      this.attempt(() => this.context.events.onServerFailure(this.server));
    }
    if (texts.includes(failure.text)) return;
    this.log.failed(describeFailure(failure), retryInMs);
    this.notifyObservers();
  }

  onTimeout(
    typeUrl: string,
    name: string,
    kind: 'overdue' | 'missing',
    serverAnswered: boolean,
  ): void {
    const resource = this.types.get(typeUrl)?.byName.get(name);
    if (resource === undefined) return;
    if (kind === 'overdue') this.log.overdue(resource.id);
    else resource.timeOut(serverAnswered);
  }

  private serviceOf(type: ResourceType<unknown>): DiscoveryService {
    return (this.policy.separateStreams && type.discoveryService) || AGGREGATED;
  }

  private streamOf(type: ResourceType<unknown>): AdsStream {
    const service = this.serviceOf(type);
    let stream = this.streams.get(service);
    if (stream === undefined) {
      stream = new AdsStream(this, service);
      this.streams.set(service, stream);
    }
    return stream;
  }

  private notifyObservers(): void {
    for (const observer of this.observers) {
      this.attempt(() => observer.onServerStateChanged(this));
    }
  }

  private countResponse(typeUrl: string, { events, invalid }: ResponseContent): void {
    let valid = 0;
    for (const { kind } of events.values()) if (kind === 'accepted') valid++;
    try {
      this.context.events.onResponse(this.server, typeUrl, valid, invalid);
    } catch (error) {
      this.log.bug('event', error);
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
}

const NO_STREAM: AdsStreamSnapshot = {
  state: 'idle',
  retryInMs: undefined,
  hasAnswered: false,
  displaced: 0,
  lastError: undefined,
  isUnsteady: false,
};

/** The states of a stream, from the one that is furthest from working. */
const PROGRESS = ['closed', 'backoff', 'idle', 'connecting', 'open'];
