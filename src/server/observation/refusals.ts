import type { Refusal } from '../../http-filters/server-filter';
import { statusName } from '../../util/status-code';
import { diagnostics } from '../../xds-client/diagnostics';
import {
  RefusalLog,
  type RefusalLogOptions,
  type RefusedRequest,
} from '../connections/refusal-log';
import type { ServerCounts } from './server-counts';

/** Constructor options. */
export interface RefusalsOptions extends RefusalLogOptions {
  readonly counts: ServerCounts;
  /** As it was given to `bindAsync`. */
  readonly address: string;
  readonly nodeId: string;
}

/** Receives the calls of an address that are refused: counts and publishes each, and logs each cause from time to time. */
export class Refusals {
  private readonly log: RefusalLog;

  constructor(private readonly options: RefusalsOptions) {
    this.log = new RefusalLog(options);
  }

  /** @param request With its path only if nothing else of it can be read. */
  report(refusal: Refusal, request: RefusedRequest): void {
    this.options.counts.addRefusal(refusal);
    if (diagnostics.callRefused.hasSubscribers) this.publish(refusal, request);
    this.log.report(refusal, request);
  }

  private publish(
    { code, policy, decidedBy, reason }: Refusal,
    { path, remote, tls }: RefusedRequest,
  ): void {
    const { address, nodeId } = this.options;
    diagnostics.callRefused.publish({
      nodeId,
      address,
      path,
      status: statusName(code),
      policy,
      filter: decidedBy?.filter,
      action: decidedBy?.action,
      client: remote?.address,
      identity: tls?.peer?.uriSans[0],
      error: reason,
    });
  }
}
