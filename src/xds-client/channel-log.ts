import { inSeconds } from '../util/duration';
import { errorStack } from '../util/errors';
import { toIso } from '../util/since';
import { MAX_SHOWN_NAME } from '../util/text';
import type { AdsResponse } from './ads/ads-response';
import type { Answer } from './ads/verdict';
import type { Channel, ChannelResource, ResourceListener } from './channel-resource';
import type { AddedText } from './change-history';
import type { ClientContext } from './client-context';
import { diagnostics, type ServerEvent } from './diagnostics';
import {
  MAX_INITIAL_VERSIONS_LENGTH,
  MAX_LOGGED_BUGS,
  MAX_LOGGED_RECOVERIES,
  MAX_LOGGED_UNREQUESTED,
} from './limits';
import { failureOf, type Accepted, type ResourceEvent, type ResourceState } from './resource-state';
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
  private readonly bugs = new Set<string>();
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

  /** Logs that other processes displace the streams of this one, and that they no longer do. */
  displaced(lastAgeMs: number | undefined): void {
    const { logger } = this.context;
    if (lastAgeMs === undefined) {
      logger.info(() => `${this.server}: a stream has lasted again`, { event: 'streams-lasting' });
      return;
    }
    logger.error(
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
    if (this.bugs.has(place)) return;
    if (this.bugs.size === MAX_LOGGED_BUGS) this.bugs.clear();
    this.bugs.add(place);
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
    const { value } = acceptedOf(before) ?? {};
    const isRepeated = event.kind === 'accepted' && event.accepted.value === value;
    const isWell = failureOf(before) === undefined && !isRemovalIgnored(before);
    // A response may repeat thousands.
    if (isRepeated && isWell) return;
    try {
      if (!isWell && event.kind === 'accepted') this.logRecovery(resource, event, before);
      if (!isWell || event.kind === 'deleted') this.logRemoval(resource, event, before);
      if (isRepeated) return;
      this.remember(resource, event, before);
      if (event.kind === 'accepted') this.logAccepted(resource, event.accepted, value);
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
    const change = this.changeOf(resource, state);
    if (change.before === undefined) return;
    this.context.history.add({ ...change, kind: 'released', text: '' });
  }

  /** Logs an exception of what only describes a resource. It changes nothing else. */
  private onDescribed({ id }: ChannelResource, error: unknown): void {
    this.context.logger.error(
      () => `${describeResource(id)}: unexpected error in its description: ${errorStack(error)}`,
    );
  }

  /** Logs that a resource is accepted whose last versions were rejected; of as many as one rejection may have, the first ones. */
  private logRecovery(
    { id }: ChannelResource,
    { accepted, version = accepted.version }: Extract<Event, { kind: 'accepted' }>,
    before: State,
  ): void {
    const failure = failureOf(before);
    if (failure?.status !== 'NACKED' || failure.isExpiry === true) return;
    if (this.recoveries === MAX_LOGGED_RECOVERIES) return;
    this.recoveries++;
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
   * Logs what is not used of a resource, as an error when it differs from what was skipped before, because nothing less is shown by
   * default; the fields that have no effect, where the line is shown, because that takes time; and what changed, as a detail.
   */
  private logAccepted(
    { id, type, name }: ChannelResource,
    { value, version, bytes }: Accepted<unknown>,
    previous: unknown,
  ): void {
    const { logger } = this.context;
    const describe = (text: string) => `${describeResource(id)}: version "${version}": ${text}`;
    const skipped = type.describeSkipped(value);
    if (skipped !== undefined) {
      const known = previous === undefined ? undefined : type.describeSkipped(previous);
      if (skipped === known) logger.info(() => describe(skipped));
      else logger.error(() => describe(skipped));
    }
    if (logger.showsInfo === true) {
      const fields = type.describeUnusedFields(bytes);
      const about = { event: 'fields-unused', typeUrl: type.typeUrl, name, version };
      const text = () => describe(`without effect on gRPC clients: ${fields.join(', ')}`);
      if (fields.length > 0) logger.info(text, about);
    }
    if (previous === undefined) return;
    logger.trace(TRACER, () => describe(type.describeChange(previous, value)));
  }

  /** Adds an event to the history. */
  private remember(resource: ChannelResource, event: Event, before: State): void {
    const { history } = this.context;
    const change = this.changeOf(resource, before);
    switch (event.kind) {
      case 'accepted': {
        const { value, version } = event.accepted;
        const text = this.describeLater(resource, acceptedOf(before)?.value, value);
        history.add({ ...change, kind: 'accepted', version, text });
        break;
      }
      case 'failed': {
        const { error, rejected: bytes, version } = event.failure;
        const rejected = bytes && { version, bytes };
        history.add({ ...change, kind: 'rejected', text: error.message, rejected });
        break;
      }
      case 'deleted':
      case 'timed-out': {
        const text = event.failure.error.message;
        // What never was is not removed.
        const isMissing = event.kind === 'deleted' && before.kind !== 'accepted';
        if (isMissing) history.add({ ...change, kind: 'missing', text: NOT_IN_RESPONSE });
        else if (event.kind === 'deleted') history.add({ ...change, kind: 'removed', text });
        else history.add({ ...change, kind: 'timed-out', text });
        break;
      }
      case 'renewed':
        break;
    }
  }

  /** What every change of a resource has in the history. */
  private changeOf({ type, name, channel }: ChannelResource, state: State) {
    const { typeUrl } = type;
    const { serverUri } = channel.server;
    const atMs = this.context.clock.now();
    const { version, bytes } = acceptedOf(state) ?? {};
    const before = version === undefined ? undefined : { version, bytes };
    return { atMs, serverUri, typeUrl, name, version: '', before, rejected: undefined };
  }

  /** Returns a function that describes a change when the history is read. It keeps both values, so there is none for types that describe nothing. */
  private describeLater(resource: ChannelResource, before: unknown, after: unknown): AddedText {
    const isSaid = resource.type.describeChange !== RESOURCE_TYPE_DEFAULTS.describeChange;
    if (before === undefined || !isSaid) return '';
    return () => {
      try {
        return resource.type.describeChange(before, after);
      } catch (error) {
        this.onDescribed(resource, error);
        return '';
      }
    };
  }
}

/** Why a resource that was requested is missing from the start. */
const NOT_IN_RESPONSE =
  'not in the response: check the name, and that the server has it for this node';

function acceptedOf(state: State): Accepted<unknown> | undefined {
  return state.kind === 'accepted' ? state.accepted : undefined;
}

function isRemovalIgnored(state: State): boolean {
  return state.kind === 'accepted' && state.deletionIgnored;
}

/** Whether an event is of a response that has the resource. */
function isSent(event: Event): boolean {
  return event.kind === 'accepted' || (event.kind === 'failed' && event.failure.isExpiry !== true);
}
