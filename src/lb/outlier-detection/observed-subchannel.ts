import { BaseSubchannelWrapper } from '../../grpc-js';
import type { Subchannel, SubchannelAddress } from '../../grpc-js';
import { InterceptedSubchannel } from '../../grpc-js/subchannel-wrappers';
import type { ObservedEndpoint } from './observed-endpoint';

/**
 * A subchannel that is unhealthy while its endpoint is ejected (gRFC A61). The connection stays as it is; the
 * policies below that mind health, as all do that balance over endpoints, do not use it.
 *
 * It may be observed at some times and not at others. To replace it would make grpc-js search all its subchannels for
 * the connection.
 */
export class ObservedSubchannel extends BaseSubchannelWrapper {
  private observed: ObservedEndpoint | undefined;

  /** @param inUse Those that are referenced, which this one joins and leaves by itself. */
  constructor(
    readonly wrapped: Subchannel,
    readonly address: SubchannelAddress,
    private readonly inUse: Set<ObservedSubchannel>,
  ) {
    super(wrapped);
  }

  /** The endpoint it is observed for; `undefined` while it is not. */
  get endpoint(): ObservedEndpoint | undefined {
    return this.observed;
  }

  /** Observes it for another endpoint, or no longer. */
  observe(endpoint: ObservedEndpoint | undefined): void {
    if (endpoint === this.observed) return;
    this.observed?.detach(this);
    this.observed = endpoint;
    if (endpoint === undefined) this.setEjected(false);
    else if (this.inUse.has(this)) endpoint.attach(this);
  }

  /** Called by the endpoint. */
  setEjected(ejected: boolean): void {
    this.setHealthy(!ejected);
  }

  // Not in the constructor: grpc-js makes subchannels that it never takes hold of, and so never lets go.
  override ref(): void {
    super.ref();
    this.inUse.add(this);
    this.observed?.attach(this);
  }

  protected override destroy(): void {
    super.destroy();
    this.inUse.delete(this);
    this.observed?.detach(this);
  }
}

/** The observed one in what a child picked, which other policies below may have wrapped in turn. */
export function findObserved(picked: Subchannel): ObservedSubchannel | undefined {
  let subchannel = picked;
  for (;;) {
    if (subchannel instanceof ObservedSubchannel) {
      if (subchannel.endpoint !== undefined) return subchannel;
    } else if (!(subchannel instanceof InterceptedSubchannel)) {
      return undefined;
    }
    subchannel = subchannel.wrapped;
  }
}
