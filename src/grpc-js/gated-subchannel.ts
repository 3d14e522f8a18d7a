import { experimental } from '@grpc/grpc-js';

type Subchannel = experimental.SubchannelInterface;

/**
 * A subchannel that connects when its owner lets it. For a pick_first of grpc-js only: a picker must return the
 * subchannel it was made for, since parent policies look for their own wrappers in pick results.
 */
export class GatedSubchannel extends experimental.BaseSubchannelWrapper {
  /** @param onConnectRequested Receives each request to connect, instead of the subchannel. */
  constructor(
    subchannel: Subchannel,
    private readonly onConnectRequested: (subchannel: Subchannel) => void,
  ) {
    super(subchannel);
  }

  /** The subchannel it was made for. */
  get wrapped(): Subchannel {
    return this.child;
  }

  override startConnecting(): void {
    this.onConnectRequested(this.child);
  }
}
