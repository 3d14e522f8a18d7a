import type { ChannelOptions } from '../../grpc-js';

/**
 * The channel options that a child is updated with. Policies create their subchannels anew when they get another
 * object, and grpc-js pools subchannels by the values of their options: so a copy makes the child replace the
 * wrappers of its subchannels, on the same connections.
 */
export class RenewableOptions {
  private isDue = false;
  private given: ChannelOptions | undefined;
  private passed: ChannelOptions = {};

  /** Makes the next options another object. */
  renew(): void {
    this.isDue = true;
  }

  /** The options for the child: the same object while the given one is the same, and nothing was renewed. */
  of(given: ChannelOptions): ChannelOptions {
    if (this.isDue) this.passed = { ...given };
    else if (given !== this.given) this.passed = given;
    this.isDue = false;
    this.given = given;
    return this.passed;
  }
}
