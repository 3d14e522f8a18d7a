import type { Node } from '../../wire/generated/envoy/config/core/v3/base';
import type * as Delta from './delta-subscriptions';
import { SotwProtocol } from './sotw-subscriptions';
import type { AdsProtocol, RequestSource } from './subscriptions';
import { late } from '../../util/late';

/** Loads the incremental variant late, because most servers are used with the other one. */
const loadDelta = late<typeof Delta>(() => require('./delta-subscriptions'));

/** Whether the incremental variant of the protocol is used with a server. */
export type DeltaMode =
  | 'off'
  | 'on'
  /** It is tried, and state of the world is used with a server that does not implement it, and with istiod. */
  | 'auto';

/** Constructor options of a variant choice. */
export interface VariantChoiceOptions {
  readonly mode: DeltaMode;
  readonly node: Node;
  /** Keys of servers that were found not to have a usable incremental variant. */
  readonly withoutDelta: Set<string>;
  readonly serverKey: string;
}

/** Chooses the variant of the protocol for every stream to one server. */
export class VariantChoice {
  constructor(private readonly options: VariantChoiceOptions) {
    const { mode, node, withoutDelta, serverKey } = options;
    if (mode === 'auto' && isIstiodNode(node)) withoutDelta.add(serverKey);
  }

  /** Whether the next stream uses the incremental variant. */
  get isDelta(): boolean {
    const { mode, withoutDelta, serverKey } = this.options;
    return mode !== 'off' && !withoutDelta.has(serverKey);
  }

  /** Creates the protocol of the chosen variant, for one stream and those that replace it. */
  createProtocol(source: RequestSource): AdsProtocol {
    const { node } = this.options;
    if (!this.isDelta) return new SotwProtocol(source, node);
    const { DeltaProtocol } = loadDelta();
    return new DeltaProtocol(source, node);
  }

  /** Handles that the server does not implement the incremental variant. @returns whether another one is tried. */
  onDeltaUnimplemented(): boolean {
    const { mode, withoutDelta, serverKey } = this.options;
    if (mode === 'auto') withoutDelta.add(serverKey);
    return mode === 'auto';
  }

  /**
   * Handles the `control_plane.identifier` of an incremental response.
   * @returns whether the stream must be replaced by one of the other variant.
   */
  onControlPlane(identifier: string): boolean {
    return isIstiodIdentifier(identifier) && this.onDeltaUnimplemented();
  }
}

// On incremental streams istiod forgets the listeners and clusters that a client has requested: each response to a
// request sets the watched names to those it contains, so that later changes of all others are not sent. See
// `pushDeltaXds` in https://github.com/istio/istio/blob/1.27.0/pilot/pkg/xds/delta.go#L483-L541.

/**
 * Returns whether a node is configured for istiod: this metadata makes istiod generate resources for gRPC, and no other
 * server reads it (https://github.com/istio/istio/blob/1.27.0/pilot/pkg/xds/xdsgen.go, `findGenerator`).
 */
function isIstiodNode({ metadata }: Node): boolean {
  const generator = metadata?.fields.get('GENERATOR')?.kind;
  return generator?.$case === 'stringValue' && generator.value === 'grpc';
}

/** Returns whether the `control_plane.identifier` of a response is one of istiod: JSON that names the component. */
function isIstiodIdentifier(identifier: string): boolean {
  return /"Component":\s*"istiod"/.test(identifier);
}
