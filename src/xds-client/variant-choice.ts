import type { Node } from '../generated/envoy/config/core/v3/base';
import type { AdsProtocol, RequestSource } from './ads-protocol';
import type * as Delta from './delta-protocol';
import { isIstiodIdentifier, isIstiodNode } from './istiod';
import { SotwProtocol } from './sotw-protocol';

/** Whether the incremental variant of the protocol is spoken with a server. */
export type DeltaMode =
  | 'off'
  | 'on'
  /** It is tried, and state of the world is spoken with a server that does not have it, and with istiod. */
  | 'auto';

/** What a choice is made by. */
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

  /** Whether the next stream is to be an incremental one. */
  get isDelta(): boolean {
    const { mode, withoutDelta, serverKey } = this.options;
    return mode !== 'off' && !withoutDelta.has(serverKey);
  }

  /** The variant as one stream, and those that replace it, speak it. */
  createProtocol(source: RequestSource): AdsProtocol {
    const { node } = this.options;
    if (!this.isDelta) return new SotwProtocol(source, node);
    const { DeltaProtocol } = loadDelta();
    return new DeltaProtocol(source, node);
  }

  /** The server has said that it does not have it. @returns whether there is another variant to try. */
  onDeltaUnimplemented(): boolean {
    const { mode, withoutDelta, serverKey } = this.options;
    if (mode === 'auto') withoutDelta.add(serverKey);
    return mode === 'auto';
  }

  /**
   * An incremental response names its server.
   * @returns whether the stream must be replaced by one of the other variant.
   */
  onControlPlane(identifier: string): boolean {
    return isIstiodIdentifier(identifier) && this.onDeltaUnimplemented();
  }
}

/** Late, because most servers are spoken to in the other variant. */
function loadDelta(): typeof Delta {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- the only way to load a module late without waiting for it; the type is that of the module
  return require('./delta-protocol');
}
