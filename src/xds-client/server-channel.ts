import type { ServerConfig } from '../bootstrap/bootstrap';
import type { Node } from '../generated/envoy/config/core/v3/base';
import type { Clock } from '../util/clock';
import type { Logger } from '../util/logger';
import type { Random } from '../util/random';
import { ok, type Result } from '../util/result';
import type { SerialQueue } from '../util/serial-queue';
import type { Steps } from '../util/steps';
import type { AdsResponse } from './ads/ads-response';
import { readInSteps, type ReadResources } from './ads/response-reader';
import { AdsStream, type AdsStreamSnapshot } from './ads/ads-stream';
import type { AdsStreamHandler, ResourceKey, Verdict } from './ads/ads-stream-handler';
import type { ChannelListener } from './channel-listener';
import { ChannelResources } from './channel-resources';
import type { ClientEvents } from './client-events';
import type { ServerSnapshot } from './client-snapshot';
import { diagnostics, type ServerEvent } from './diagnostics';
import { MAX_LOGGED_UNREQUESTED } from './limits';
import type { ParseResourceName } from './resource-name';
import type { CertificateProviders, DiscoveryService, ResourceType } from './resource-type';
import type { ServerPolicy } from './server-policy';
import type { TimeBudget } from './time-budget';
import type { XdsTransport, XdsTransportFactory } from './transport';
import { VariantChoice } from './ads/protocol-variant';
import { describeResource, describeServer, joinBounded, MAX_SHOWN_NAME } from './xds-errors';

/** What a channel is made of. */
export interface ServerChannelOptions {
  readonly certificateProviders: CertificateProviders;
  readonly server: ServerConfig;
  readonly policy: ServerPolicy;
  readonly node: Node;
  readonly parseName: ParseResourceName;
  /** Keys of servers that were found not to have the incremental variant; added to. */
  readonly withoutDelta: Set<string>;
  readonly transportFactory: XdsTransportFactory;
  readonly queue: SerialQueue;
  readonly time: TimeBudget;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly events: ClientEvents;
}

const TRACER = 'xds_client';

const AGGREGATED: DiscoveryService = {
  service: 'envoy.service.discovery.v3.AggregatedDiscoveryService',
  noun: 'AggregatedResources',
};

/**
 * All dealings with one management server, for every target and authority that uses it (gRFCs A47 and A71): the
 * connection, what is subscribed to, the resources received, and whether the server is well. Normally there is one
 * stream; a server with separate streams has one for each type.
 */
export class ServerChannel {
  readonly server: ServerConfig;
  readonly policy: ServerPolicy;
  /** Names the server and the node in messages. */
  readonly description: string;
  private readonly resources: ChannelResources;
  private readonly listeners = new Set<ChannelListener>();
  private readonly variant: VariantChoice;
  private readonly streams = new Map<DiscoveryService, AdsStream>();
  /** By stream, why the last attempt has failed, until an answer comes. */
  private readonly failures = new Map<DiscoveryService, string>();
  private transport: XdsTransport | undefined;
  /** The server was left for another one since it was last well: targets have resources that it did not send. */
  private wasLeft = false;
  private everAnswered = false;
  /** The rejections last logged, by type, so that each is logged once. */
  private readonly loggedRejections = new Map<string, string>();
  /** Types that were received without a request, so that each is logged once. */
  private readonly loggedUnrequested = new Set<string>();

  constructor(private readonly options: ServerChannelOptions) {
    const { server, policy, node, withoutDelta } = options;
    this.server = server;
    this.policy = policy;
    this.description = describeServer(server, node.id);
    const serverKey = server.key;
    const { clock, logger } = options;
    this.resources = new ChannelResources({ channel: this, clock, logger });
    this.variant = new VariantChoice({ mode: policy.delta, node, withoutDelta, serverKey });
  }

  /** Why nothing can be had from the server now, as a sentence; `undefined` if nothing is known against it. */
  get failure(): string | undefined {
    for (const failure of this.failures.values()) return failure;
    return undefined;
  }

  /** Adds a listener of what the server does. */
  attach(listener: ChannelListener): void {
    this.listeners.add(listener);
  }

  /** Removes a listener, which must have unsubscribed from everything. */
  detach(listener: ChannelListener): void {
    this.listeners.delete(listener);
  }

  /**
   * Requests a resource for a listener. One that is subscribed to already is not requested again: the listener gets
   * what is known of it.
   */
  subscribe(type: ResourceType<unknown>, name: string, listener: ChannelListener): void {
    const known = this.resources.subscribe(type, name, listener);
    if (known === undefined) this.streamOf(type).addName(type.typeUrl, name);
    else this.resources.share(known, listener);
  }

  /** Ends a listener's subscription to a resource. */
  unsubscribe(type: ResourceType<unknown>, name: string, listener: ChannelListener): void {
    const isLast = this.resources.unsubscribe(type.typeUrl, name, listener);
    if (isLast) this.streams.get(this.serviceOf(type))?.removeName(type.typeUrl, name);
  }

  /** A target turns to another server, whose resources take the place of this one's. See `AdsStream.forgetVersions`. */
  forgetVersions(): void {
    this.wasLeft = true;
    for (const stream of this.streams.values()) stream.forgetVersions();
  }

  /** Does what has become due; see `AdsStream.flush`. */
  flush(): void {
    for (const stream of this.streams.values()) stream.flush();
  }

  /** Closes the stream and the connection. */
  close(): void {
    for (const stream of this.streams.values()) stream.close();
    this.transport?.close();
  }

  /** A copy for diagnostics. Of several streams, the one that is furthest from working. */
  snapshot(): ServerSnapshot {
    const { serverUri } = this.server;
    const states = [...this.streams.values()].map((stream) => stream.snapshot());
    const [worst] = states.sort((a, b) => PROGRESS.indexOf(a.state) - PROGRESS.indexOf(b.state));
    const { state, retryInMs } = worst ?? { state: 'idle', retryInMs: undefined };
    return { serverUri, state, lastError: this.failure, retryInMs };
  }

  /** What a wait for a resource from this server is a wait for, as the end of a sentence. */
  describeWait(type: ResourceType<unknown>, name: string): string {
    const stream = this.streams.get(this.serviceOf(type));
    const { state, retryInMs, hasAnswered } = stream?.snapshot() ?? NO_STREAM;
    if (retryInMs !== undefined) {
      const cause =
        this.failures.get(this.serviceOf(type)) ?? `${this.description} ended the stream`;
      return `${cause}; next attempt in ${inSeconds(retryInMs)}`;
    }
    if (state !== 'open') return `connecting to ${this.description}`;
    const fact = hasAnswered ? 'has not sent it' : 'has not answered this node yet';
    const remainingMs = stream?.remainingMs(type.typeUrl, name);
    const outlook = remainingMs === undefined ? '' : `; giving up in ${inSeconds(remainingMs)}`;
    return `${this.description} ${fact}${outlook}`;
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
    const { queue, time, clock, random } = this.options;
    const { resources, variant } = this;
    return new AdsStream({
      handler: this.createHandler(service),
      source: {
        typeUrls: () => resources.typeUrls((type) => this.serviceOf(type) === service),
        resources: (typeUrl) => resources.ofType(typeUrl),
      },
      connect: () => this.connect(),
      method: (verb) => `/${service.service}/${verb}${service.noun}`,
      resourceTimeoutMs: this.policy.resourceTimeoutMs,
      ...{ variant, queue, time, clock, random },
    });
  }

  private createHandler(service: DiscoveryService): AdsStreamHandler {
    return {
      onResponse: (response) => this.onResponse(response),
      onStateChanged: (change) => {
        if (change.kind === 'reachable') this.recover(service);
        else this.onFailure(service, change.reason, change.retryInMs);
      },
      onTimeout: (key, kind, serverAnswered) => {
        if (kind === 'overdue') this.logOverdue(key);
        else this.resources.onTimeout(key.typeUrl, key.name, serverAnswered);
      },
    };
  }

  private *onResponse(response: AdsResponse): Steps<Verdict> {
    const { typeUrl, version } = response;
    const type = this.resources.type(typeUrl);
    if (!response.isRequested || type === undefined) {
      this.logUnrequested(typeUrl);
      return UNREQUESTED;
    }
    // Names may be added while the response is read.
    const { latestPosition } = this.resources;
    const read = yield* this.read(response, type);
    const verdict = this.conclude(response, read, latestPosition);
    this.resources.onResponse(typeUrl, { version, read, latestPosition });
    return verdict;
  }

  /** @param latestPosition See `ChannelResources.latestPosition`: when the response arrived. */
  private conclude(
    response: AdsResponse,
    { outcomes, removed, violations, invalid, isComplete }: ReadResources,
    latestPosition: number,
  ): Verdict {
    const { typeUrl } = response;
    const { resources } = this;
    const wasRequested = (name: string) => {
      const resource = resources.get(typeUrl, name);
      return resource !== undefined && resource.position <= latestPosition;
    };
    const settled: string[] = removed.filter(wasRequested);
    const requestAgain: string[] = [];
    let valid = 0;
    for (const [name, { kind }] of outcomes) {
      if (kind === 'accepted') valid++;
      const isMissing = kind === 'renewed' && resources.get(typeUrl, name)?.accepted === undefined;
      (kind === 'lost' || isMissing ? requestAgain : settled).push(name);
    }
    this.options.events.onResponse(this.server, typeUrl, valid, invalid);
    const answer = this.decideAnswer(response, violations);
    return { answer, settled, requestAgain, isComplete, wasRequested };
  }

  /** Decides whether a response is acknowledged or rejected (NACK): one violation is enough to reject it. */
  private decideAnswer(
    { typeUrl, version }: AdsResponse,
    violations: readonly string[],
  ): Verdict['answer'] {
    if (violations.length === 0) {
      this.loggedRejections.delete(typeUrl);
      this.trace(() => `accepted version "${version}" of ${typeUrl}`);
      return { kind: 'acknowledge' };
    }
    const reason = joinBounded(violations);
    this.logRejection(typeUrl, reason);
    return { kind: 'reject', reason };
  }

  private logUnrequested(typeUrl: string): void {
    this.trace(() => `dropped a response of ${typeUrl}, which was not requested`);
    const logged = this.loggedUnrequested;
    if (logged.has(typeUrl) || logged.size === MAX_LOGGED_UNREQUESTED) return;
    logged.add(typeUrl);
    const shown = typeUrl.slice(0, MAX_SHOWN_NAME);
    this.options.logger.error(
      () =>
        `update from ${this.description} dropped: type_url "${shown}" was not requested on the stream`,
    );
  }

  private onFailure(service: DiscoveryService, reason: string, retryInMs: number): void {
    const failure = `${this.description} ${reason}`;
    // Several streams on one connection fail alike.
    const isKnown = [...this.failures.values()].includes(failure);
    const isFirst = this.failures.size === 0;
    this.failures.set(service, failure);
    this.trace(() => `${reason}; next attempt in ${inSeconds(retryInMs)}`);
    if (isFirst) this.options.events.onServerFailure(this.server);
    if (isKnown) return;
    this.options.logger.error(() => `${failure}; next attempt in ${inSeconds(retryInMs)}`);
    if (diagnostics.serverFailed.hasSubscribers) {
      diagnostics.serverFailed.publish({ ...this.eventBase(), error: failure, retryInMs });
    }
    for (const listener of this.listeners) listener.onServerFailed();
  }

  private connect(): Result<XdsTransport, string> {
    if (this.transport !== undefined) return ok(this.transport);
    const made = this.options.transportFactory.create(this.server);
    if (made.ok) this.transport = made.value;
    return made;
  }

  private logOverdue({ typeUrl, name }: ResourceKey): void {
    const typeName = this.resources.type(typeUrl)?.typeName ?? typeUrl;
    this.options.logger.info(
      () =>
        `${describeResource({ typeName, name })}: ${this.description} has not sent it yet; ` +
        'asking again on a new stream',
    );
  }

  /** The server is well again when none of its streams is known to be broken. */
  private recover(service: DiscoveryService): void {
    const wasBroken = this.failures.delete(service);
    if (this.failures.size > 0) return;
    if (wasBroken) this.options.logger.info(() => `${this.description} answers again`);
    if ((wasBroken || !this.everAnswered) && diagnostics.serverConnected.hasSubscribers) {
      diagnostics.serverConnected.publish(this.eventBase());
    }
    this.everAnswered = true;
    for (const listener of this.listeners) listener.onServerResponded(this);
    if (!this.wasLeft) return;
    this.wasLeft = false;
    for (const [other, stream] of this.streams) if (other !== service) stream.renew();
  }

  private eventBase(): ServerEvent {
    const { server, node } = this.options;
    return { nodeId: node.id, serverUri: server.serverUri };
  }

  private read(response: AdsResponse, type: ResourceType<unknown>): Steps<ReadResources> {
    const { typeUrl } = type;
    return readInSteps(response, {
      type,
      server: this.server,
      certificateProviders: this.options.certificateProviders,
      nowMs: this.options.clock.now(),
      readResourceErrors: this.policy.readResourceErrors,
      parseName: this.options.parseName,
      isWanted: (name) => this.resources.get(typeUrl, name) !== undefined,
      cached: (name) => this.resources.get(typeUrl, name)?.accepted,
      elementsOf: (limit) => this.resources.elements.of(limit),
    });
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

const NO_STREAM: AdsStreamSnapshot = { state: 'idle', retryInMs: undefined, hasAnswered: false };

const UNREQUESTED: Verdict = {
  answer: { kind: 'none' },
  settled: [],
  requestAgain: [],
  isComplete: false,
  wasRequested: () => false,
};

/** From the state furthest from working on. */
const PROGRESS = ['closed', 'backoff', 'idle', 'connecting', 'open'];

function inSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
