import { experimental } from '@grpc/grpc-js';

type Subchannel = experimental.SubchannelInterface;
type RealSubchannel = ReturnType<Subchannel['getRealSubchannel']>;
type DataWatcher = Parameters<Subchannel['addDataWatcher']>[0];

/** Starts a call on a connection. Throws if the connection is gone. */
export type CreateCall = RealSubchannel['createCall'];

/** Told of what a server answers to one call. The status comes last, and exactly once. */
export type CallListener = Parameters<CreateCall>[3];

/**
 * A subchannel to be returned by a picker, and only there: calls on it are started by a function that may
 * watch or change them. Policies must not see it, because the host library takes subchannels with
 * different real ones for different, and this one pretends.
 */
export class InterceptedSubchannel extends experimental.BaseSubchannelWrapper {
  private readonly pretended: RealSubchannel;

  /** @param createCall Is to start the call on `subchannel.getRealSubchannel()`. */
  constructor(subchannel: Subchannel, createCall: CreateCall) {
    super(subchannel);
    // eslint-disable-next-line no-restricted-syntax, @typescript-eslint/no-unsafe-class-instance-assignment -- A class with private members, of which the host library only calls this one.
    this.pretended = { createCall } as RealSubchannel;
  }

  /** The subchannel it was made for. */
  get wrapped(): Subchannel {
    return this.child;
  }

  override getRealSubchannel(): RealSubchannel {
    return this.pretended;
  }

  override addDataWatcher(watcher: DataWatcher): void {
    // It would be handed the pretended one.
    this.child.addDataWatcher(watcher);
  }
}
