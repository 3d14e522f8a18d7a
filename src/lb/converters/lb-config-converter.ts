import type { LbConfig, LbConfigParser } from '../../resources/extension-points';
import type { Violations } from '../../util/violations';

/** Where and with what a conversion takes place. */
export interface ConversionContext {
  /** Converts the configs of child policies. */
  readonly parser: Pick<LbConfigParser, 'fromProto'>;
  /** How many policies the config is nested in. */
  readonly depth: number;
  readonly violations: Violations;
}

/** Converts the xDS form of one policy's config (gRFC A52). */
export interface LbConfigConverter {
  /** The full name of the message, without the `type.googleapis.com/` prefix. */
  readonly messageType: string;
  /** @returns `'unsupported'` to try the next policy of the list, `undefined` after adding a violation. */
  convert(value: Uint8Array, context: ConversionContext): LbConfig | 'unsupported' | undefined;
}
