import { ConnectivityState } from '../../grpc-js';
import type { PickArgs, PickResult } from '../../grpc-js';
import type { EndpointLeaf } from '../endpoint-leaf';
import type { LbConnection, LbConnectionState, LbEndpoint } from './definition';

/** A leaf as the policy of an application sees it: without what could harm the tree. */
export class LeafConnection implements LbConnection {
  readonly #leaf: EndpointLeaf;
  readonly #connect: (leaf: EndpointLeaf) => void;

  /** @param connect Has the leaf connect as soon as that is safe. */
  constructor(leaf: EndpointLeaf, connect: (leaf: EndpointLeaf) => void) {
    this.#leaf = leaf;
    this.#connect = connect;
  }

  /** The result of picking the connection; `undefined` if it is not one of ours. */
  static pick(connection: LbConnection, args: PickArgs): PickResult | undefined {
    return connection instanceof LeafConnection ? connection.#leaf.picker.pick(args) : undefined;
  }

  get endpoint(): LbEndpoint {
    return this.#leaf.endpoint;
  }

  get state(): LbConnectionState {
    return connectionState(this.#leaf.state);
  }

  get error(): string | undefined {
    return this.#leaf.errorMessage ?? undefined;
  }

  connect(): void {
    this.#connect(this.#leaf);
  }
}

/** The state under the name it has for applications. */
export function connectionState(state: ConnectivityState): LbConnectionState {
  switch (state) {
    case ConnectivityState.READY:
      return 'ready';
    case ConnectivityState.CONNECTING:
      return 'connecting';
    case ConnectivityState.TRANSIENT_FAILURE:
      return 'failed';
    case ConnectivityState.IDLE:
    case ConnectivityState.SHUTDOWN:
      return 'idle';
  }
}
