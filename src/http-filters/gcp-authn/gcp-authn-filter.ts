import { Status, type CallCredentials, type Metadata } from '../../grpc-js';
import type { HttpFilterConfig } from '../../resources/extension-points';
import type { ExtensionConfig } from '../../resources/shared/extension-parser';
import { isPromiseLike } from '../../util/contained';
import { quoteName, quoteText } from '../../util/text';
import type { Violations } from '../../util/violations';
import { GcpAuthnFilterConfig } from '../../wire/generated/envoy/extensions/filters/http/gcp_authn/v3/gcp_authn';
import { CallFailedError } from '../call-filter';
import type { ClientFilter, FoundMetadata } from '../client-filter';
import { asConfig, decodeFilterMessage } from '../http-filter';

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
function parseGcpAuthnConfig(
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

/** Creates call credentials for an audience. */
export type CreateCredentials = (audience: string) => CallCredentials;

/**
 * Creates the GCP authentication filter (gRFC A83). It adds the call credentials for the audience in the metadata of the
 * call's cluster, under the name of the filter's instance; clusters without one are called without.
 */
export function createGcpAuthnFilter(createCredentials: CreateCredentials): ClientFilter {
  return {
    configTypes: [GCP_AUTHN],
    overrideTypes: [GCP_AUTHN],
    isTerminal: false,
    parseConfig: parseGcpAuthnConfig,
    parseOverride: parseGcpAuthnConfig,
    prepare(config) {
      // Overrides are validated, and have no effect.
      const { cacheSize } = asConfig(GcpAuthnConfig, config);
      return {
        create: (call, instance) => ({
          onRequestHeaders(headers) {
            const { routing } = call;
            if (routing === undefined) return headers;
            const authenticate = (metadata: FoundMetadata): Metadata => {
              const audience = audienceOf(metadata, call.cluster, instance);
              if (audience === undefined) return headers;
              const { states } = routing;
              const cache = states.get(instance, CredentialsCache, () => new CredentialsCache());
              routing.addCallCredentials(cache.get(audience, cacheSize, createCredentials));
              return headers;
            };
            // In the request headers: a filter may have chosen another cluster before.
            const metadata = routing.clusterMetadata();
            return isPromiseLike(metadata) ? metadata.then(authenticate) : authenticate(metadata);
          },
        }),
        describe: () => ({ cacheSize }),
      };
    },
  };
}

/** Returns the audience in the metadata of a cluster; `undefined` if it has none. Throws if the call must fail. */
function audienceOf(
  metadata: FoundMetadata,
  cluster: string,
  instance: string,
): string | undefined {
  if (!metadata.ok) throw unavailable(cluster, metadata.error);
  const value = metadata.value?.get(instance);
  if (value === undefined || value.kind === 'audience') return value?.url;
  throw unavailable(cluster, `its metadata ${quoteText(instance)} is not an Audience`);
}

function unavailable(cluster: string, reason: string): CallFailedError {
  const details = `GCP authentication: Cluster ${quoteName(cluster)}: ${reason}`;
  return new CallFailedError({ code: Status.UNAVAILABLE, details });
}

/** The call credentials of the audiences used last, shared by the routes of a channel (gRFC A83). */
class CredentialsCache {
  private readonly byAudience = new Map<string, CallCredentials>();

  /** @param size How many are kept from now on. */
  get(audience: string, size: number, create: CreateCredentials): CallCredentials {
    const credentials = this.byAudience.get(audience) ?? create(audience);
    // The last one is the one used last.
    this.byAudience.delete(audience);
    this.byAudience.set(audience, credentials);
    for (const oldest of this.byAudience.keys()) {
      if (this.byAudience.size <= size) break;
      this.byAudience.delete(oldest);
    }
    return credentials;
  }
}
