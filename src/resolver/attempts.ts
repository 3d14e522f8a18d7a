import type { PickResult, StatusObject } from '../grpc-js';
import { joinFirst, quoteName } from '../util/text';

/** The channel option of grpc-js with the largest number of attempts, whatever a retry policy says. */
export const ATTEMPTS_OPTION = 'grpc-node.retry_max_attempts_limit';
/** The attempts that grpc-js makes without that option. */
export const DEFAULT_ATTEMPTS = 5;

/** Describes the limit on the attempts of a call. */
export function describeAttemptsLimit(ofPolicy: number, ofChannel = DEFAULT_ATTEMPTS): string {
  return ofPolicy <= ofChannel
    ? `at most ${ofPolicy} by the retry_policy of the route`
    : `at most ${ofChannel} by the channel option ${ATTEMPTS_OPTION}, of ${ofPolicy} by the retry_policy of the route`;
}

/** The attempts of a call that was retried (gRFC A44). */
export class Attempts {
  /** How often each address was tried. */
  private readonly byAddress = new Map<string, number>();
  private count = 0;

  /** @param first The pick of the first attempt. */
  constructor(first: PickResult) {
    this.add(first);
  }

  add({ subchannel }: PickResult): void {
    const address = subchannel?.getAddress() ?? 'an unknown address';
    this.count++;
    this.byAddress.set(address, (this.byAddress.get(address) ?? 0) + 1);
  }

  /**
   * Returns the status with how often the call was tried, and where.
   *
   * @param policy The limit on them; see {@link describeAttemptsLimit}.
   */
  explain(status: StatusObject, cluster: string, policy: string): StatusObject {
    const shown = Array.from(this.byAddress, ([address, count]) =>
      count === 1 ? address : `${address} (${count} times)`,
    );
    const addresses = joinFirst(shown);
    const text = `${this.count} attempts, ${policy}: Cluster ${quoteName(cluster)}: ${addresses}`;
    return { ...status, details: `${status.details}; ${text}` };
  }
}
