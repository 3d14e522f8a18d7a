import type { Clock } from '../util/clock';
import { inSeconds } from '../util/duration';
import { errorStack } from '../util/errors';
import type { Logger } from '../util/logger';
import { toIso } from '../util/since';
import { MAX_SHOWN_NAME } from '../util/text';
import type { AdsResponse } from './ads/ads-response';
import type { Answer } from './ads/verdict';
import type { Channel, ChannelResource, ResourceListener } from './channel-resource';
import type { ChangeHistory } from './change-history';
import type { KeptValue, ResourceChange } from './client-snapshot';
import {
  MAX_INITIAL_VERSIONS_LENGTH,
  MAX_LOGGED_BUGS,
  MAX_LOGGED_RECOVERIES,
  MAX_LOGGED_UNREQUESTED,
} from './limits';
import type { Accepted, ResourceEvent, ResourceState } from './resource-state';
import { describeResource, type ResourceId } from './xds-errors';

/** The name under which the details of responses and resources are traced (`GRPC_TRACE`). */
const TRACER = 'xds_client';

/** Constructor options of a log. */
export interface ChannelLogOptions {
  readonly channel: Channel;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly history: ChangeHistory;
}

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

  constructor(private readonly options: ChannelLogOptions) {}

  /** Names the server and the node. */
  private get server(): string {
    return this.options.channel.description;
  }

  /** Logs how a response is answered. */
  answer({ typeUrl, version }: AdsResponse, answer: Answer): void {
    if (answer.kind !== 'reject') {
      this.rejections.delete(typeUrl);
      this.trace(() => `accepted version "${version}" of ${typeUrl}`);
      return;
    }
    const { reason } = answer;
    if (this.rejections.get(typeUrl) === reason) return;
    this.rejections.set(typeUrl, reason);
    this.recoveries = 0;
    this.options.logger.error(() => `update from ${this.server} rejected (NACK): ${reason}`, {
      event: 'resource-nacked',
      typeUrl,
      version,
      error: reason,
    });
  }

  /** Logs a response of a type that was not requested. */
  unrequested(typeUrl: string): void {
    this.trace(() => `dropped a response of ${typeUrl}, which was not requested`);
    const types = this.unrequestedTypes;
    if (types.has(typeUrl) || types.size === MAX_LOGGED_UNREQUESTED) return;
    types.add(typeUrl);
    const shown = typeUrl.slice(0, MAX_SHOWN_NAME);
    this.options.logger.error(
      () =>
        `update from ${this.server} dropped: type_url "${shown}" was not requested on the stream`,
    );
  }

  /** Logs that other processes displace the streams of this one, and that they no longer do. */
  displaced(lastAgeMs: number | undefined): void {
    const { logger } = this.options;
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
    this.options.logger.error(() => `${subject} from ${this.server}: unexpected error: ${stack}`);
  }

  /** Logs, once, that a stream begins without the versions of some cached resources. */
  versionsLeftOut(typeUrl: string, count: number): void {
    if (this.hasLeftOutVersions) return;
    this.hasLeftOutVersions = true;
    this.options.logger.error(
      () =>
        `request to ${this.server} without the versions of ${count} cached resources of ${typeUrl}: all of them exceed ` +
        `${MAX_INITIAL_VERSIONS_LENGTH} characters; these are sent again with each new stream: use shorter versions`,
    );
  }

  /** Logs that a resource is requested again on a new stream. */
  overdue(id: ResourceId): void {
    this.options.logger.info(
      () =>
        `${describeResource(id)}: ${this.server} has not sent it yet; requested again on a new stream`,
    );
  }

  /** Logs details. */
  trace(text: () => string): void {
    this.options.logger.trace(TRACER, () => `${this.server}: ${text()}`);
  }

  onEvent(resource: ChannelResource, event: Event, before: State): void {
    const isRepeated = event.kind === 'accepted' && event.accepted.value === valueOf(before);
    if (event.kind === 'accepted')
      this.attempt(resource, () => this.logRecovery(resource, event, before));
    // A response may repeat thousands.
    if (isRepeated && !isRemovalIgnored(before)) return;
    this.attempt(resource, () => this.logRemoval(resource, event, before));
    if (event.kind === 'accepted' && !isRepeated) {
      const { accepted } = event;
      this.attempt(resource, () => this.logSkipped(resource, accepted, before));
      this.attempt(resource, () => this.logUnused(resource, accepted));
      this.attempt(resource, () => this.traceChange(resource, accepted, before));
    }
    this.attempt(resource, () => this.remember(resource, event, before));
  }

  onReleased(resource: ChannelResource, state: State): void {
    this.attempt(resource, () => this.rememberRelease(resource, state));
    if (!isRemovalIgnored(state)) return;
    this.options.logger.info(
      () => `${describeResource(resource.id)}: no longer watched after its removal`,
    );
  }

  /** Runs what only describes a resource. An exception in it changes nothing else. */
  private attempt({ id }: ChannelResource, describe: () => void): void {
    try {
      describe();
    } catch (error) {
      this.options.logger.error(
        () => `${describeResource(id)}: unexpected error in its description: ${errorStack(error)}`,
      );
    }
  }

  /** Logs that a resource is accepted whose last versions were rejected; of as many as one rejection may have, the first ones. */
  private logRecovery(
    { id }: ChannelResource,
    { accepted, version = accepted.version }: Extract<Event, { kind: 'accepted' }>,
    before: State,
  ): void {
    const failure = before.kind === 'requested' ? undefined : before.failure;
    if (failure?.status !== 'NACKED' || failure.isExpiry === true) return;
    if (this.recoveries === MAX_LOGGED_RECOVERIES) return;
    this.recoveries++;
    this.options.logger.info(
      () =>
        `${describeResource(id)}: version "${version}" from ${this.server} is accepted; what it sent since ${toIso(failure.sinceMs)} was rejected (NACK)`,
      { event: 'recovered' },
    );
  }

  /** Logs that a removal is ignored, and that it is over. */
  private logRemoval({ id }: ChannelResource, event: Event, before: State): void {
    const { logger } = this.options;
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
   * Logs what is not used of a resource: as an error when it differs from what was skipped before, because nothing less
   * is shown by default.
   */
  private logSkipped({ id, type }: ChannelResource, next: Accepted<unknown>, before: State): void {
    const skipped = type.describeSkipped(next.value);
    if (skipped === undefined) return;
    const text = () => `${describeResource(id)}: version "${next.version}": ${skipped}`;
    const known =
      before.kind === 'accepted' ? type.describeSkipped(before.accepted.value) : undefined;
    if (skipped === known) this.options.logger.info(text);
    else this.options.logger.error(text);
  }

  /** Logs the fields that have no effect. It takes time, so only where the line is shown. */
  private logUnused(
    { id, type, name }: ChannelResource,
    { version, bytes }: Accepted<unknown>,
  ): void {
    const { logger } = this.options;
    // Whether the line is shown is determined last, because that reads the environment.
    if (logger.showsInfo !== true) return;
    const fields = type.describeUnusedFields(bytes);
    if (fields.length === 0) return;
    const text = () =>
      `${describeResource(id)}: version "${version}": without effect on gRPC clients: ${fields.join(', ')}`;
    logger.info(text, { event: 'fields-unused', typeUrl: type.typeUrl, name, version });
  }

  private traceChange(
    { id, type }: ChannelResource,
    { version, value }: Accepted<unknown>,
    before: State,
  ): void {
    if (before.kind !== 'accepted') return;
    const previous = before.accepted.value;
    this.options.logger.trace(
      TRACER,
      () =>
        `${describeResource(id)}: version "${version}": ${type.describeChange(previous, value)}`,
    );
  }

  private remember(resource: ChannelResource, event: Event, before: State): void {
    const entry = describeEvent(resource, event, before);
    if (entry !== undefined) this.add(resource, { ...entry, before: keptValue(before) });
  }

  private rememberRelease(resource: ChannelResource, state: State): void {
    const before = keptValue(state);
    if (before === undefined) return;
    this.add(resource, { kind: 'released', version: '', text: '', before, rejected: undefined });
  }

  private add(
    { type, name, channel }: ChannelResource,
    entry: Omit<ResourceChange, 'atMs' | 'serverUri' | 'typeUrl' | 'name'>,
  ): void {
    const { clock, history } = this.options;
    const { serverUri } = channel.server;
    history.add({ atMs: clock.now(), serverUri, typeUrl: type.typeUrl, name, ...entry });
  }
}

function keptValue(state: State): KeptValue | undefined {
  if (state.kind !== 'accepted') return undefined;
  const { version, bytes } = state.accepted;
  return { version, bytes };
}

/** Describes an event for the history; `undefined` if nothing changed. */
function describeEvent(
  { type }: ChannelResource,
  event: Event,
  before: State,
): Pick<ResourceChange, 'kind' | 'version' | 'text' | 'rejected'> | undefined {
  const rejected = undefined;
  switch (event.kind) {
    case 'accepted': {
      const { value, version } = event.accepted;
      const known = valueOf(before);
      if (value === known) return undefined;
      const text = known === undefined ? '' : type.describeChange(known, value);
      return { kind: 'accepted', version, text, rejected };
    }
    case 'failed': {
      const { error, rejected: bytes, version: ofRejected } = event.failure;
      return {
        kind: 'rejected',
        version: '',
        text: error.message,
        rejected: bytes && { version: ofRejected, bytes },
      };
    }
    case 'deleted':
    case 'timed-out': {
      // What never was is not removed.
      if (event.kind === 'deleted' && before.kind !== 'accepted') {
        return { kind: 'missing', version: '', text: NOT_IN_RESPONSE, rejected };
      }
      const kind = event.kind === 'deleted' ? 'removed' : 'timed-out';
      return { kind, version: '', text: event.failure.error.message, rejected };
    }
    default:
      return undefined;
  }
}

/** Why a resource that was requested is missing from the start. */
const NOT_IN_RESPONSE =
  'not in the response: check the name, and that the server has it for this node';

function valueOf(state: State): unknown {
  return state.kind === 'accepted' ? state.accepted.value : undefined;
}

function isRemovalIgnored(state: State): boolean {
  return state.kind === 'accepted' && state.deletionIgnored;
}

/** Whether an event is of a response that has the resource. */
function isSent(event: Event): boolean {
  return event.kind === 'accepted' || (event.kind === 'failed' && event.failure.isExpiry !== true);
}
