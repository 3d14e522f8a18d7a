import { MAX_NAME_REPEATS } from '../limits';

/**
 * The changes of one type's resource names that the server may have missed, on a state-of-the-world stream. A server
 * ignores a request whose nonce is outdated, and some ignore everything in a request that rejects a response: istiod
 * does (https://github.com/istio/istio/blob/1.27.0/pkg/xds/server.go, `ShouldRespond`). An added name is confirmed by
 * the first response that contains the resource; a removed one never is. See docs/decisions/0010-names-around-a-nack.md.
 */
export class UnconfirmedNames {
  /** Added, and not contained in any response since. */
  private readonly added = new Set<string>();
  /** How often each of them may be repeated at once; those that may not are left out. */
  private readonly repeats = new Map<string, number>();
  /** Whether a name has been removed that no later request has left out again. */
  private hasUnrepeatedRemoval = false;

  /** Whether every added name is confirmed. */
  get isEmpty(): boolean {
    return this.added.size === 0;
  }

  /** Notes a name that a request has added. */
  add(name: string): void {
    this.added.add(name);
    this.repeats.set(name, MAX_NAME_REPEATS);
  }

  /** Notes a name that a request has left out for the first time. */
  remove(name: string): void {
    this.confirm(name);
    this.hasUnrepeatedRemoval = true;
  }

  /** Notes that a response contains a resource. */
  confirm(name: string): void {
    this.added.delete(name);
    this.repeats.delete(name);
  }

  /** Notes that a response is acknowledged: the ACK names everything, but may be outdated, too. */
  onAck(): void {
    this.hasUnrepeatedRemoval = false;
  }

  /**
   * Notes that a response is rejected. The response may have crossed the requests before it.
   * @returns whether these must be repeated at once. Each name is repeated so a few times only: there are servers
   * that respond to every request, and a name that does not exist would make a loop.
   */
  onNack(): boolean {
    const mustRepeat = this.repeats.size > 0 || this.hasUnrepeatedRemoval;
    for (const [name, left] of this.repeats) {
      if (left > 1) this.repeats.set(name, left - 1);
      else this.repeats.delete(name);
    }
    this.hasUnrepeatedRemoval = false;
    return mustRepeat;
  }
}
