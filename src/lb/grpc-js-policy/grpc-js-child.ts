import {
  ChildLoadBalancerHandler,
  Metadata,
  QueuePicker,
  Status,
  createChildChannelControlHelper,
  statusOrFromError,
  statusOrFromValue,
} from '../../grpc-js';
import type {
  ChannelOptions,
  GrpcEndpoint,
  LbHelper,
  Picker,
  StatusOr,
  TypedLoadBalancingConfig,
} from '../../grpc-js';
import type { Result } from '../../util/result';
import { createIdlePicker } from '../connectivity';
import type { LbHost } from '../lb-policy';

/** An update for a policy of grpc-js. */
export interface GrpcJsUpdate {
  readonly config: TypedLoadBalancingConfig;
  readonly endpoints: Result<GrpcEndpoint[], string>;
  readonly options: ChannelOptions;
  readonly resolutionNote: string;
}

/**
 * A policy registered with grpc-js, as a child of a policy of this package: its state updates run in the batch, and it
 * reports nothing after it was destroyed.
 */
export class GrpcJsChild {
  private readonly handler: InstanceType<typeof ChildLoadBalancerHandler>;
  private destroyed = false;

  constructor(
    private readonly host: LbHost,
    private readonly updateState: LbHelper['updateState'],
  ) {
    // grpc-js exports no other way to create a policy.
    this.handler = new ChildLoadBalancerHandler(this.createHelper());
  }

  /** @returns Whether the policy accepted the update. */
  update({ config, endpoints, options, resolutionNote }: GrpcJsUpdate): boolean {
    const list: StatusOr<GrpcEndpoint[]> = endpoints.ok
      ? statusOrFromValue(endpoints.value)
      : statusOrFromError({
          code: Status.UNAVAILABLE,
          details: endpoints.error,
          metadata: new Metadata(),
        });
    return this.handler.updateAddressList(list, config, options, resolutionNote);
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
      updateState: (state, picker, errorMessage) =>
        host.environment.batch.run(() => {
          if (!this.destroyed) this.updateState(state, this.guard(picker), errorMessage);
        }),
      requestReresolution: () => {
        if (!this.destroyed) host.requestReresolution();
      },
    });
  }

  /** Replaces a QueuePicker, which makes its policy connect even after it was destroyed, since calls may keep the picker. */
  private guard(picker: Picker): Picker {
    if (!(picker instanceof QueuePicker)) return picker;
    const { batch, clock } = this.host.environment;
    return createIdlePicker(clock, () => batch.run(() => this.exitIdle()));
  }
}
