import type { PickResult, StatusObject } from '../grpc-js';
import { quoteName } from '../util/text';

/** The number of endpoints in the text of a call that was retried. */
const MAX_SHOWN = 5;

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
   * @param limit That of the retry policy.
   */
  explain(status: StatusObject, cluster: string, limit: number): StatusObject {
    const shown = Array.from(this.byAddress, ([address, count]) =>
      count === 1 ? address : `${address} (${count} times)`,
    );
    const more = shown.length - MAX_SHOWN;
    const addresses = shown.slice(0, MAX_SHOWN).join(', ') + (more > 0 ? ` and ${more} more` : '');
    const policy = `at most ${limit} by the retry_policy of the route`;
    const text = `${this.count} attempts, ${policy}: Cluster ${quoteName(cluster)}: ${addresses}`;
    return { ...status, details: `${status.details}; ${text}` };
  }
}
