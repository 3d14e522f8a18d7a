import {
  ChildLoadBalancerHandler,
  Metadata,
  QueuePicker,
  Status,
  createChildChannelControlHelper,
  statusOrFromError,
  statusOrFromValue,
} from '../../grpc-js';
import { CHILD_CHANNEL_OPTION } from '../../util/channel-options';
import type {
  ChannelOptions,
  ConnectivityState,
  GrpcEndpoint,
  LbHelper,
  LoadBalancer,
  Picker,
  StatusOr,
  TypedLoadBalancingConfig,
} from '../../grpc-js';
import { containedCallback } from '../../grpc-js/host-callbacks';
import { contained } from '../../util/contained';
import type { Result } from '../../util/result';
import { createIdlePicker } from '../connectivity';
import type { LbHost } from '../lb-policy';

type UpdateArgs = Parameters<LoadBalancer['updateAddressList']>;

/** An update for a policy of grpc-js. */
export interface GrpcJsUpdate {
  readonly config: TypedLoadBalancingConfig;
  readonly endpoints: Result<GrpcEndpoint[], string>;
  readonly options: ChannelOptions;
}

/**
 * A policy registered with grpc-js, as a child of a policy of this package: its state updates run in the batch, and it
 * reports nothing after it was destroyed.
 */
export class GrpcJsChild {
  private readonly handler: Pick<
    InstanceType<typeof ChildLoadBalancerHandler>,
    'exitIdle' | 'resetBackoff' | 'destroy'
  > & {
    readonly updateAddressList: (...args: UpdateArgs) => boolean | undefined;
  };
  private destroyed = false;

  /** @param onError Called with an exception of the policy. Must not throw. */
  constructor(
    private readonly host: LbHost,
    private readonly updateState: LbHelper['updateState'],
    onError: (error: unknown) => void,
  ) {
    // grpc-js exports no other way to create a policy.
    const handler = new ChildLoadBalancerHandler(this.createHelper());
    this.handler = {
      updateAddressList: contained(
        (...args: UpdateArgs) => handler.updateAddressList(...args),
        onError,
      ),
      exitIdle: contained(() => handler.exitIdle(), onError),
      resetBackoff: contained(() => handler.resetBackoff(), onError),
      destroy: contained(() => handler.destroy(), onError),
    };
  }

  /** @returns Whether the policy accepted the update; `undefined` if it threw. */
  update({ config, endpoints, options }: GrpcJsUpdate): boolean | undefined {
    const list: StatusOr<GrpcEndpoint[]> = endpoints.ok
      ? statusOrFromValue(endpoints.value)
      : statusOrFromError({
          code: Status.UNAVAILABLE,
          details: endpoints.error,
          metadata: new Metadata(),
        });
    // The note is added above, where it may change without a new attempt.
    return this.handler.updateAddressList(list, config, options, '');
  }

  exitIdle(): void {
    if (!this.destroyed) this.handler.exitIdle();
  }

  resetBackoff(): void {
    if (!this.destroyed) this.handler.resetBackoff();
  }

  destroy(): void {
    this.destroyed = true;
    this.handler.destroy();
  }

  private createHelper(): LbHelper {
    const { host } = this;
    return createChildChannelControlHelper(host, {
      createSubchannel: (address, args) => host.createSubchannel(address, forSubchannel(args)),
      updateState: containedCallback(PLACE, (...report: Parameters<LbHelper['updateState']>) =>
        host.environment.batch.run(() => this.onReport(...report)),
      ),
      requestReresolution: containedCallback(PLACE, () => {
        if (!this.destroyed) host.requestReresolution();
      }),
    });
  }

  private onReport(state: ConnectivityState, picker: Picker, error: string | null): void {
    if (!this.destroyed) this.updateState(state, this.guard(picker), error);
  }

  /** Replaces a QueuePicker, which makes its policy connect even after it was destroyed, since calls may keep the picker. */
  private guard(picker: Picker): Picker {
    if (!(picker instanceof QueuePicker)) return picker;
    return createIdlePicker(this.host.environment, () => this.exitIdle());
  }
}

/** For exceptions. */
const PLACE = 'a policy of grpc-js';

/** Returns the options without those for children: subchannels with other options would not be shared. */
function forSubchannel(options: ChannelOptions): ChannelOptions {
  if (!(CHILD_CHANNEL_OPTION in options)) return options;
  return Object.fromEntries(
    Object.entries(options).filter(([name]) => name !== CHILD_CHANNEL_OPTION),
  );
}
