import type { Logger } from '../util/logger';
import type { AdsResponse } from './ads/ads-response';
import type { Answer } from './ads/verdict';
import { MAX_LOGGED_UNREQUESTED } from './limits';
import { describeResource, MAX_SHOWN_NAME, type ResourceId } from './xds-errors';

/** The name under which the details of responses and resources are traced (`GRPC_TRACE`). */
export const TRACER = 'xds_client';

/** Logs the responses of one management server. What repeats is logged once. */
export class ChannelLog {
  /** The rejections last logged, by type. */
  private readonly rejections = new Map<string, string>();
  /** Types that were received without a request. */
  private readonly unrequestedTypes = new Set<string>();

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
    this.logger.error(() => `update from ${this.server} rejected (NACK): ${reason}`);
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

  /** Logs that a resource is requested again on a new stream. */
  overdue(id: ResourceId): void {
    this.logger.info(
      () =>
        `${describeResource(id)}: ${this.server} has not sent it yet; asking again on a new stream`,
    );
  }

  /** Logs details. */
  trace(text: () => string): void {
    this.logger.trace(TRACER, () => `${this.server}: ${text()}`);
  }
}
