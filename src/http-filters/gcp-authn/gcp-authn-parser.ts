import { GcpAuthnFilterConfig } from '../../wire/generated/envoy/extensions/filters/http/gcp_authn/v3/gcp_authn';
import type { HttpFilterConfig } from '../../resources/extension-points';
import type { ExtensionConfig } from '../../resources/shared/extension-parser';
import type { Violations } from '../../util/violations';
import { decodeFilterMessage } from '../http-filter';

/** The full name of the message, for configs and overrides alike. */
export const GCP_AUTHN = 'envoy.extensions.filters.http.gcp_authn.v3.GcpAuthnFilterConfig';

const DEFAULT_CACHE_SIZE = 10;
/** Bounds the memory of tokens, whatever a control plane asks for. */
const MAX_CACHE_SIZE = 1000;

/** A validated GcpAuthnFilterConfig (gRFC A83), the same message for a listener and for an override. */
export class GcpAuthnConfig implements HttpFilterConfig {
  readonly configType = GCP_AUTHN;

  /** @param cacheSize For how many audiences tokens are kept: 1 to 1000. */
  constructor(readonly cacheSize: number) {}
}

/** Parses a GcpAuthnFilterConfig, of which only the size of the cache is read; `undefined` after adding a violation. */
export function parseGcpAuthnConfig(
  config: ExtensionConfig,
  violations: Violations,
): GcpAuthnConfig | undefined {
  const message = decodeFilterMessage(config, GcpAuthnFilterConfig, violations);
  if (message === undefined) return undefined;
  const size = message.cacheConfig?.cacheSize;
  if (size === undefined) return new GcpAuthnConfig(DEFAULT_CACHE_SIZE);
  if (size === 0n) {
    return violations.at('cache_config').at('cache_size').add('must be at least 1, not 0');
  }
  return new GcpAuthnConfig(size > MAX_CACHE_SIZE ? MAX_CACHE_SIZE : Number(size));
}
