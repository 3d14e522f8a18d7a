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
 * A policy registered with grpc-js, inside a tree of ours: what it reports enters the batch, and nothing
 * is reported once it was destroyed.
 */
export class GrpcJsChild {
  private readonly handler: InstanceType<typeof ChildLoadBalancerHandler>;
  private destroyed = false;

  constructor(private readonly host: LbHost) {
    // The only way to make a policy that grpc-js exports.
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
          if (!this.destroyed) host.updateState(state, this.guard(picker), errorMessage);
        }),
      requestReresolution: () => {
        if (!this.destroyed) host.requestReresolution();
      },
    });
  }

  /**
   * A QueuePicker knows its policy, and would have it connect even after it was destroyed: calls may
   * still hold the picker.
   */
  private guard(picker: Picker): Picker {
    if (!(picker instanceof QueuePicker)) return picker;
    const { batch, clock } = this.host.environment;
    return createIdlePicker(clock, () => batch.run(() => this.exitIdle()));
  }
}
