import { BaseSubchannelWrapper, PickResultType } from '../../grpc-js';
import type { PickArgs, PickResult, Picker, Subchannel, SubchannelAddress } from '../../grpc-js';
import { InterceptedSubchannel } from '../../grpc-js/subchannel-wrappers';
import { MeasuredSubchannel } from '../connections/measured-subchannel';
import { describeWait, type DescribedPicker } from '../connectivity';
import type { ObservedEndpoint } from './observed-endpoints';

/** Forwards picks to the child, and counts the calls to observed endpoints. */
export class OutlierDetectionPicker implements DescribedPicker {
  constructor(private readonly child: Picker) {}

  describeWait(): string | undefined {
    return describeWait(this.child);
  }

  pick(args: PickArgs): PickResult {
    const result = this.child.pick(args);
    const { pickResultType, subchannel, status, onCallStarted, onCallEnded } = result;
    if (pickResultType !== PickResultType.COMPLETE || subchannel === null) return result;
    const observed = findObserved(subchannel);
    if (observed?.endpoint === undefined) return result;
    return {
      pickResultType,
      // Policies above look for their own subchannels.
      subchannel: subchannel === observed ? observed.wrapped : subchannel,
      status,
      onCallStarted,
      onCallEnded: observed.endpoint.observe(onCallEnded),
    };
  }
}

/**
 * A subchannel that is unhealthy while its endpoint is ejected (gRFC A61). The connection stays open; policies that
 * balance among endpoints do not use unhealthy subchannels.
 *
 * It stays in place while detection is off, since grpc-js would search all subchannels to replace it.
 */
export class ObservedSubchannel extends BaseSubchannelWrapper {
  private observed: ObservedEndpoint | undefined;

  /** @param inUse The referenced subchannels, to which this one adds itself while it is referenced. */
  constructor(
    readonly wrapped: Subchannel,
    readonly address: SubchannelAddress,
    private readonly inUse: Set<ObservedSubchannel>,
  ) {
    super(wrapped);
  }

  /** The observed endpoint; `undefined` while detection is off. */
  get endpoint(): ObservedEndpoint | undefined {
    return this.observed;
  }

  observe(endpoint: ObservedEndpoint | undefined): void {
    if (endpoint === this.observed) return;
    this.observed?.removeSubchannel(this);
    this.observed = endpoint;
    if (endpoint === undefined) this.setEjected(false);
    else if (this.inUse.has(this)) endpoint.addSubchannel(this);
  }

  /** Sets the health; called by the endpoint. */
  setEjected(ejected: boolean): void {
    this.setHealthy(!ejected);
  }

  // Not in the constructor: grpc-js creates subchannels that it never references, and so never destroys.
  override ref(): void {
    super.ref();
    this.inUse.add(this);
    this.observed?.addSubchannel(this);
  }

  protected override destroy(): void {
    super.destroy();
    this.inUse.delete(this);
    this.observed?.removeSubchannel(this);
  }
}

/** Returns the observed subchannel in a picked one, which other policies below may have wrapped. */
function findObserved(picked: Subchannel): ObservedSubchannel | undefined {
  let subchannel = picked;
  for (;;) {
    if (subchannel instanceof ObservedSubchannel) {
      if (subchannel.endpoint !== undefined) return subchannel;
    } else if (!isWrapperOfCalls(subchannel)) {
      return undefined;
    }
    subchannel = subchannel.wrapped;
  }
}

function isWrapperOfCalls(
  subchannel: Subchannel,
): subchannel is InterceptedSubchannel | MeasuredSubchannel {
  return subchannel instanceof InterceptedSubchannel || subchannel instanceof MeasuredSubchannel;
}
