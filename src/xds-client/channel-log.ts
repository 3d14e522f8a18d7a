import { inSeconds } from '../util/duration';
import { errorStack } from '../util/errors';
import { LoggedOnce } from '../util/logged-once';
import { toIso } from '../util/since';
import { MAX_SHOWN_NAME } from '../util/text';
import type { AdsResponse } from './ads/ads-response';
import type { Answer } from './ads/ack-decision';
import type { Channel, ChannelResource, ResourceListener } from './channel-resource';
import type { KeptChange } from './change-history';
import type { ClientContext } from './client-context';
import { diagnostics, type ServerEvent } from './diagnostics';
import {
  MAX_INITIAL_VERSIONS_LENGTH,
  MAX_LOGGED_RECOVERIES,
  MAX_LOGGED_UNREQUESTED,
} from './limits';
import {
  failureOf,
  type Accepted,
  type Failure,
  type ResourceEvent,
  type ResourceState,
} from './resource-state';
import { RESOURCE_TYPE_DEFAULTS } from './resource-type';
import { describeResource, type ResourceId } from './xds-errors';

/** The name under which the details of responses and resources are traced (`GRPC_TRACE`). */
const TRACER = 'xds_client';

type State = ResourceState<unknown>;
type Event = ResourceEvent<unknown>;

/**
 * Logs the responses of one management server and the events of its resources, of which the history has those that change
 * something. What repeats is logged once.
 */
export class ChannelLog implements ResourceListener {
  /** The rejections last logged, by type. */
  private readonly rejections = new Map<string, string>();
  /** The exceptions that were logged. */
  private readonly bugs = new LoggedOnce();
  /** Types that were received without a request. */
  private readonly unrequestedTypes = new Set<string>();
  private hasLeftOutVersions = false;
  /** Resources that were logged as accepted since the last rejection that was logged. */
  private recoveries = 0;

  constructor(
    private readonly channel: Channel,
    private readonly context: ClientContext,
  ) {}

  /** Names the server and the node. */
  private get server(): string {
    return this.channel.description;
  }

  /** Logs how a response is answered. */
  answer({ typeUrl, version }: AdsResponse, answer: Answer): void {
    if (answer.kind !== 'reject') {
      this.rejections.delete(typeUrl);
      const text = () => `${this.server}: accepted version "${version}" of ${typeUrl}`;
      this.context.logger.trace(TRACER, text);
      return;
    }
    const { reason } = answer;
    if (this.rejections.get(typeUrl) === reason) return;
    this.rejections.set(typeUrl, reason);
    this.recoveries = 0;
    this.context.logger.error(() => `update from ${this.server} rejected (NACK): ${reason}`, {
      event: 'resource-nacked',
      typeUrl,
      version,
      error: reason,
    });
  }

  /** Logs, and publishes, that the server has failed. */
  failed(failure: string, retryInMs: number): void {
    const about = this.eventBase();
    this.context.logger.error(() => `${failure}; next attempt in ${inSeconds(retryInMs)}`, {
      event: 'server-failed',
      ...about,
      error: failure,
      retryInMs,
    });
    const { serverFailed } = diagnostics;
    if (serverFailed.hasSubscribers) serverFailed.publish({ ...about, error: failure, retryInMs });
  }

  /** Logs that the server has recovered, and publishes that, or that it has answered for the first time. */
  reachable(hadFailed: boolean): void {
    const about = this.eventBase();
    const fields = { event: 'server-recovered', ...about };
    if (hadFailed) this.context.logger.info(() => `${this.server} answers again`, fields);
    const { serverConnected } = diagnostics;
    if (serverConnected.hasSubscribers) serverConnected.publish(about);
  }

  private eventBase(): ServerEvent {
    return { nodeId: this.context.node.id, serverUri: this.channel.server.serverUri };
  }

  /** Logs a response of a type that was not requested. */
  unrequested(typeUrl: string): void {
    this.trace(() => `dropped a response of ${typeUrl}, which was not requested`);
    const types = this.unrequestedTypes;
    if (types.has(typeUrl) || types.size === MAX_LOGGED_UNREQUESTED) return;
    types.add(typeUrl);
    const shown = typeUrl.slice(0, MAX_SHOWN_NAME);
    this.context.logger.error(
      () =>
        `update from ${this.server} dropped: type_url "${shown}" was not requested on the stream`,
    );
  }

  /** Logs that a stream has lasted, after several that did not. */
  lasting(): void {
    const text = () => `${this.server}: a stream has lasted again`;
    this.context.logger.info(text, { event: 'streams-lasting' });
  }

  /** Logs that streams end with an error although the server answers. @param reason Follows the name of the server. */
  unsteady(reason: string): void {
    this.context.logger.error(
      () =>
        `${this.server} ${reason}; this is the third stream in a row that ends soon after a response: changes may be missing; ` +
        'a new one is opened each second',
      { event: 'streams-failing', ...this.eventBase(), error: reason },
    );
  }

  /** Logs that other processes displace the streams of this one. */
  displaced(lastAgeMs: number): void {
    this.context.logger.error(
      () =>
        `${this.server} keeps ending the stream of this process with OK, the last one after ${inSeconds(lastAgeMs)}: it keeps one ` +
        'stream for each host, as the agent of Istio does, and several processes use it. Changes of the configuration, ' +
        'authorization policies included, are in use up to 10 s late: set GRPC_XDS_SHARE to the path of a socket, the same in ' +
        'each process, so that all of them share one stream: see docs/guides/several-processes.md',
      { event: 'streams-cut' },
    );
  }

  /** Logs an exception with its stack, once for each place that it comes from. @param subject What it is about. */
  bug(subject: string, error: unknown): void {
    const stack = errorStack(error);
    // What led to it may differ.
    const place = stack.split('\n', 4).join('\n').slice(0, MAX_SHOWN_NAME);
    if (!this.bugs.isFirst(place)) return;
    this.context.logger.error(() => `${subject} from ${this.server}: unexpected error: ${stack}`);
  }

  /** Logs, once, that a stream begins without the versions of some cached resources. */
  versionsLeftOut(typeUrl: string, count: number): void {
    if (this.hasLeftOutVersions) return;
    this.hasLeftOutVersions = true;
    this.context.logger.error(
      () =>
        `request to ${this.server} without the versions of ${count} cached resources of ${typeUrl}: all of them exceed ` +
        `${MAX_INITIAL_VERSIONS_LENGTH} characters; these are sent again with each new stream: use shorter versions`,
    );
  }

  /** Logs that a resource is requested again on a new stream. */
  overdue(id: ResourceId): void {
    this.context.logger.info(
      () =>
        `${describeResource(id)}: ${this.server} has not sent it yet; requested again on a new stream`,
    );
  }

  /** Logs details. */
  trace(text: () => string): void {
    this.context.logger.trace(TRACER, () => `${this.server}: ${text()}`);
  }

  onEvent(resource: ChannelResource, event: Event, before: State): void {
    const cached = before.kind === 'accepted' ? before : undefined;
    const value = cached?.accepted.value;
    const isRepeated = event.kind === 'accepted' && event.accepted.value === value;
    const isWell = failureOf(before) === undefined && !isRemovalIgnored(before);
    // A response may repeat thousands.
    if (isRepeated && isWell) return;
    try {
      if (!isWell) this.logRecovery(resource, event, before);
      if (!isWell || event.kind === 'deleted') this.logRemoval(resource, event, before);
      if (event.kind === 'accepted') {
        if (!isRepeated) this.onAccepted(resource, event.accepted, before);
      } else if (event.kind !== 'renewed') {
        this.rememberFailure(resource, event, before);
      }
    } catch (error) {
      this.onDescribed(resource, error);
    }
  }

  onReleased(resource: ChannelResource, state: State): void {
    if (isRemovalIgnored(state)) {
      this.context.logger.info(
        () => `${describeResource(resource.id)}: no longer watched after its removal`,
      );
    }
    if (state.kind === 'accepted') this.remember(resource, state, 'released', {});
  }

  /** Logs an exception of what only describes a resource. It changes nothing else. */
  private onDescribed({ id }: ChannelResource, error: unknown): void {
    this.context.logger.error(
      () => `${describeResource(id)}: unexpected error in its description: ${errorStack(error)}`,
    );
  }

  /** Logs that a resource is accepted whose last versions were rejected; of as many as one rejection may have, the first ones. */
  private logRecovery({ id }: ChannelResource, event: Event, before: State): void {
    if (event.kind !== 'accepted') return;
    const failure = failureOf(before);
    if (failure?.status !== 'NACKED' || failure.isExpiry === true) return;
    if (this.recoveries === MAX_LOGGED_RECOVERIES) return;
    this.recoveries++;
    const { accepted, version = accepted.version } = event;
    this.context.logger.info(
      () =>
        `${describeResource(id)}: version "${version}" from ${this.server} is accepted; what it sent since ${toIso(failure.sinceMs)} was rejected (NACK)`,
      { event: 'recovered' },
    );
  }

  /** Logs that a removal is ignored, and that it is over. */
  private logRemoval({ id }: ChannelResource, event: Event, before: State): void {
    const { logger } = this.context;
    const isIgnored = isRemovalIgnored(before);
    if (event.kind === 'deleted' && event.handling === 'ignore') {
      if (isIgnored || before.kind !== 'accepted') return;
      // gRFC A53 requires a warning. grpc-js has no such level, and shows nothing below an error by default.
      logger.error(
        () => `${describeResource(id)}: removed by ${this.server}, kept (ignore_resource_deletion)`,
      );
    } else if (isIgnored && isSent(event)) {
      logger.info(() => `${describeResource(id)}: sent again after its removal`, {
        event: 'recovered',
      });
    }
  }

  /**
   * Remembers a value, and logs what is not used of it, as an error when it differs from what was skipped before, because nothing
   * less is shown by default; the fields that have no effect, where the line is shown, because that takes time; and what changed, as
   * a detail.
   */
  private onAccepted(
    resource: ChannelResource,
    { value, version, bytes }: Accepted<unknown>,
    before: State,
  ): void {
    const { logger } = this.context;
    const { id, type, name } = resource;
    const previous = before.kind === 'accepted' ? before.accepted.value : undefined;
    const describe = (text: string) => `${describeResource(id)}: version "${version}": ${text}`;
    // It keeps both values, so there is none for types that describe nothing.
    const isSaid = type.describeChange !== RESOURCE_TYPE_DEFAULTS.describeChange;
    const isDescribed = previous !== undefined && isSaid;
    const text = isDescribed ? () => this.describeChange(resource, previous, value) : undefined;
    this.remember(resource, before, 'accepted', { version, describe: text });
    const skipped = type.describeSkipped(value);
    if (skipped !== undefined) {
      const known = previous === undefined ? undefined : type.describeSkipped(previous);
      if (skipped === known) logger.info(() => describe(skipped));
      else logger.error(() => describe(skipped));
    }
    if (logger.showsInfo === true) {
      const fields = type.describeUnusedFields(bytes);
      const about = { event: 'fields-unused', typeUrl: type.typeUrl, name, version };
      const unused = () => describe(`without effect on gRPC clients: ${fields.join(', ')}`);
      if (fields.length > 0) logger.info(unused, about);
    }
    if (previous === undefined) return;
    logger.trace(TRACER, () => describe(type.describeChange(previous, value)));
  }

  /** Describes a change when the history is read. */
  private describeChange(resource: ChannelResource, before: unknown, after: unknown): string {
    try {
      return resource.type.describeChange(before, after);
    } catch (error) {
      this.onDescribed(resource, error);
      return '';
    }
  }

  private rememberFailure(
    resource: ChannelResource,
    { kind, failure }: Extract<Event, { readonly failure: Failure }>,
    before: State,
  ): void {
    const { error, rejected: bytes, version } = failure;
    // What never was is not removed.
    const isMissing = kind === 'deleted' && before.kind !== 'accepted';
    this.remember(resource, before, isMissing ? 'missing' : FAILURES[kind], {
      text: isMissing ? NOT_IN_RESPONSE : error.message,
      rejected: bytes && { version, bytes },
    });
  }

  /** Adds a change to the history. */
  private remember(
    { type, name, channel }: ChannelResource,
    state: State,
    kind: KeptChange['kind'],
    { version = '', text = '', describe, rejected }: Partial<KeptChange>,
  ): void {
    this.context.history.add({
      atMs: this.context.clock.now(),
      serverUri: channel.server.serverUri,
      typeUrl: type.typeUrl,
      name,
      kind,
      version,
      text,
      describe,
      before: state.kind === 'accepted' ? state.accepted : undefined,
      rejected,
    });
  }
}

/** What failures are called in the history. */
const FAILURES = { failed: 'rejected', deleted: 'removed', 'timed-out': 'timed-out' } as const;

/** Why a resource that was requested is missing from the start. */
const NOT_IN_RESPONSE =
  'not in the response: check the name, and that the server has it for this node';

function isRemovalIgnored(state: State): boolean {
  return state.kind === 'accepted' && state.deletionIgnored;
}

/** Whether an event is of a response that has the resource. */
function isSent(event: Event): boolean {
  return event.kind === 'accepted' || (event.kind === 'failed' && event.failure.isExpiry !== true);
}
