import type { ServerConfig } from '../bootstrap/bootstrap';
import { errorStack } from '../util/error-message';
import type { Logger } from '../util/logger';
import type { AdsResponse } from './ads/ads-response';
import type { Answer } from './ads/verdict';
import type { ClientEvents } from './client-snapshot';
import { diagnostics, type ServerEvent } from './diagnostics';
import { MAX_INITIAL_VERSIONS_LENGTH, MAX_LOGGED_BUGS, MAX_LOGGED_UNREQUESTED } from './limits';
import { describeResource, inSeconds, MAX_SHOWN_NAME, type ResourceId } from './xds-errors';

/** Constructor options of a server's health. */
export interface ServerHealthOptions {
  readonly server: ServerConfig;
  /** Names the server and the node in messages. */
  readonly description: string;
  readonly nodeId: string;
  readonly logger: Logger;
  readonly events: ClientEvents;
}

/** Whether a server is reachable, on each of its streams, in the log and for diagnostics. */
export class ServerHealth<K> {
  /** By stream, why the last attempt has failed, until the server answers. */
  private readonly failures = new Map<K, string>();
  private everAnswered = false;

  constructor(private readonly options: ServerHealthOptions) {}

  /** Why the server cannot be used now, as a sentence; `undefined` if no stream has failed. */
  get failure(): string | undefined {
    for (const failure of this.failures.values()) return failure;
    return undefined;
  }

  /** The same for one stream. */
  failureOf(stream: K): string | undefined {
    return this.failures.get(stream);
  }

  /** Handles that a stream has failed. @returns whether the reason is new: several streams on one connection fail alike. */
  onFailed(stream: K, reason: string, retryInMs: number): boolean {
    const { server, description, logger, events } = this.options;
    const failure = `${description} ${reason}`;
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
    const { description, logger } = this.options;
    if (hadFailed) {
      const fields = { event: 'server-recovered', ...this.eventBase() };
      logger.error(() => `${description} answers again`, fields);
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

/** The name under which the details of responses and resources are traced (`GRPC_TRACE`). */
export const TRACER = 'xds_client';

/** Logs the responses of one management server. What repeats is logged once. */
export class ChannelLog {
  /** The rejections last logged, by type. */
  private readonly rejections = new Map<string, string>();
  /** The exceptions that were logged. */
  private readonly bugs = new Set<string>();
  /** Types that were received without a request. */
  private readonly unrequestedTypes = new Set<string>();
  private hasLeftOutVersions = false;

  /** @param server Names the server and the node. */
  constructor(
    private readonly server: string,
    private readonly logger: Logger,
  ) {}

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
    this.logger.error(() => `update from ${this.server} rejected (NACK): ${reason}`, {
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
    this.logger.error(
      () =>
        `update from ${this.server} dropped: type_url "${shown}" was not requested on the stream`,
    );
  }

  /** Logs that the server ends its streams. @param reason The status of the last one. */
  unstable(reason: string): void {
    this.logger.error(
      () =>
        `${this.server} ends its streams soon after a response, the last one with ${reason}: see its log; ` +
        'new ones are opened at most once a second',
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
    this.logger.error(() => `${subject} from ${this.server}: unexpected error: ${stack}`);
  }

  /** Logs, once, that a stream begins without the versions of some cached resources. */
  versionsLeftOut(typeUrl: string, count: number): void {
    if (this.hasLeftOutVersions) return;
    this.hasLeftOutVersions = true;
    this.logger.error(
      () =>
        `request to ${this.server} without the versions of ${count} cached resources of ${typeUrl}: all of them exceed ` +
        `${MAX_INITIAL_VERSIONS_LENGTH} characters; these are sent again with each new stream: use shorter versions`,
    );
  }

  /** Logs that a resource is requested again on a new stream. */
  overdue(id: ResourceId): void {
    this.logger.info(
      () =>
        `${describeResource(id)}: ${this.server} has not sent it yet; requested again on a new stream`,
    );
  }

  /** Logs details. */
  trace(text: () => string): void {
    this.logger.trace(TRACER, () => `${this.server}: ${text()}`);
  }
}
