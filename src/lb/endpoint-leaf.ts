import { ConnectivityState, LeafLoadBalancer } from '../grpc-js';
import type { ChannelOptions, GrpcEndpoint, LbHelper, Picker } from '../grpc-js';
import type { XdsEndpoint } from '../resources/endpoints';
import { createFailurePicker, queuePicker } from './connectivity';
import { sameAddresses } from './endpoint-key';
import { withoutResolutionNote } from './grpc-js-error';
import type { LbHost } from './lb-policy';

type HostLeaf = InstanceType<typeof LeafLoadBalancer>;

/** Called in the batch when the state, the picker or the error of a leaf changed. */
export type LeafListener = (leaf: EndpointLeaf, previous: ConnectivityState) => void;

/** What a leaf is made of. */
export interface EndpointLeafOptions {
  /** The host of the policy that owns the leaf. */
  readonly host: LbHost;
  readonly endpoint: XdsEndpoint;
  /** For subchannels. */
  readonly channelOptions: ChannelOptions;
  readonly onChanged: LeafListener;
}

/**
 * One endpoint, as a pick_first of its own (gRFC A61): connects to the endpoint's addresses by Happy
 * Eyeballs, stays in TRANSIENT_FAILURE until one of them is up, and goes IDLE when the connection is lost.
 *
 * The pick_first of grpc-js is made on the first connection: an idle leaf costs next to nothing.
 */
export class EndpointLeaf {
  private currentEndpoint: XdsEndpoint;
  private currentState = ConnectivityState.IDLE;
  private currentPicker: Picker = queuePicker;
  private currentError: string | null = null;
  private hostLeaf: HostLeaf | undefined;
  private channelOptions: ChannelOptions;
  /** Whether a connection is up or sought. */
  private attempting = false;
  private destroyed = false;

  constructor(private readonly options: EndpointLeafOptions) {
    this.currentEndpoint = options.endpoint;
    this.channelOptions = options.channelOptions;
  }

  /** The endpoint as last updated. */
  get endpoint(): XdsEndpoint {
    return this.currentEndpoint;
  }

  get state(): ConnectivityState {
    return this.currentState;
  }

  /** Picks the connection when READY, fails with the error in TRANSIENT_FAILURE, queues otherwise. */
  get picker(): Picker {
    return this.currentPicker;
  }

  /** Why the leaf is in TRANSIENT_FAILURE, without resolution note; `null` in any other state. */
  get errorMessage(): string | null {
    return this.currentError;
  }

  /** Starts connecting if idle. Not to be called from a pick: see `Clock.soon`. */
  connect(): void {
    if (this.destroyed || this.attempting) return;
    this.attempting = true;
    this.hostLeaf ??= this.createHostLeaf();
    // Not `exitIdle`: that would go back to the addresses of the last attempt, whatever came since.
    this.hostLeaf.startConnecting();
  }

  /**
   * Takes a newer object for the same set of addresses. Only a change of their order, or other options,
   * reaches the connection; it is kept if it can be.
   */
  update(endpoint: XdsEndpoint, channelOptions: ChannelOptions): void {
    const unchanged =
      channelOptions === this.channelOptions &&
      sameAddresses(endpoint.addresses, this.currentEndpoint.addresses);
    this.currentEndpoint = endpoint;
    this.channelOptions = channelOptions;
    if (!unchanged) this.hostLeaf?.updateEndpoint(toGrpcEndpoint(endpoint), channelOptions);
  }

  /** Lets go of the connection; the listener is not called any more. */
  destroy(): void {
    this.destroyed = true;
    this.hostLeaf?.destroy();
    this.hostLeaf = undefined;
  }

  private createHostLeaf(): HostLeaf {
    const { host } = this.options;
    const helper: LbHelper = {
      createSubchannel: (address, args) => host.createSubchannel(address, args),
      addChannelzChild: (child) => host.addChannelzChild(child),
      removeChannelzChild: (child) => host.removeChannelzChild(child),
      // grpc-js's pick_first forgets to stop its timer, and so may report after it was destroyed.
      updateState: (state, picker, errorMessage) =>
        host.environment.batch.run(() => {
          if (!this.destroyed) this.onReport(state, picker, errorMessage);
        }),
      requestReresolution: () => {
        if (!this.destroyed) host.requestReresolution();
      },
    };
    return new LeafLoadBalancer(
      toGrpcEndpoint(this.currentEndpoint),
      helper,
      this.channelOptions,
      '',
    );
  }

  private onReport(state: ConnectivityState, picker: Picker, errorMessage: string | null): void {
    const previous = this.currentState;
    const error = errorMessage === null ? null : withoutResolutionNote(errorMessage);
    // A failing leaf reports every attempt anew; only READY may come with another connection to pick.
    const same = state === previous && error === this.currentError;
    if (same && state !== ConnectivityState.READY) return;
    if (state === ConnectivityState.IDLE) this.attempting = false;
    this.currentState = state;
    this.currentError = error;
    this.currentPicker = this.choosePicker(picker);
    this.options.onChanged(this, previous);
  }

  private choosePicker(picker: Picker): Picker {
    if (this.currentState === ConnectivityState.READY) return picker;
    // The pickers of grpc-js would connect past `attempting`, and carry the empty note.
    return this.currentError === null ? queuePicker : createFailurePicker(this.currentError);
  }
}

function toGrpcEndpoint(endpoint: XdsEndpoint): GrpcEndpoint {
  return { addresses: [...endpoint.addresses] };
}
