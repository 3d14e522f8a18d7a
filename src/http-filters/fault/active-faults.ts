import { createHandle, type Handle } from '../../util/handle';

/** How many faults are being injected in the process, whatever the channel (gRFC A33). */
export class ActiveFaults {
  private active = 0;

  /** How many there are now. */
  get count(): number {
    return this.active;
  }

  /**
   * Counts one fault until released.
   *
   * @param limit How many there may be, this one included; `undefined` for any number.
   * @returns `undefined` if there are that many already.
   */
  acquire(limit: number | undefined): Handle | undefined {
    if (limit !== undefined && this.active >= limit) return undefined;
    this.active++;
    return createHandle(() => {
      this.active--;
    });
  }
}
