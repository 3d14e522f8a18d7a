import { BaseSubchannelWrapper } from '../../grpc-js';
import type { Subchannel } from '../../grpc-js';
import { InterceptedSubchannel } from '../../grpc-js/intercepted-subchannel';
import type { ObservedEndpoint } from './observed-endpoint';

/**
 * A subchannel that is unhealthy while its endpoint is ejected (gRFC A61). The connection stays as it is; the
 * policies below that mind health, as all do that balance over endpoints, do not use it.
 */
export class ObservedSubchannel extends BaseSubchannelWrapper {
  constructor(
    readonly wrapped: Subchannel,
    readonly endpoint: ObservedEndpoint,
  ) {
    super(wrapped);
  }

  /** Called by the endpoint. */
  setEjected(ejected: boolean): void {
    this.setHealthy(!ejected);
  }

  // Not in the constructor: grpc-js makes subchannels that it never takes hold of, and so never lets go.
  override ref(): void {
    super.ref();
    this.endpoint.attach(this);
  }

  protected override destroy(): void {
    super.destroy();
    this.endpoint.detach(this);
  }
}

/** The one of ours in what a child picked, which other policies below may have wrapped in turn. */
export function findObserved(picked: Subchannel): ObservedSubchannel | undefined {
  let subchannel = picked;
  while (subchannel instanceof InterceptedSubchannel) subchannel = subchannel.wrapped;
  return subchannel instanceof ObservedSubchannel ? subchannel : undefined;
}
