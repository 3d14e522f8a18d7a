import type { ChannelCredentialsDefinition } from './credentials/define-channel-credentials';
import type { HttpFilterDefinition } from './http-filters/define-http-filter';
import type { LbPolicyDefinition } from './lb/custom/definition';
import { loadRuntime } from './runtime/load-runtime';
import type { CertificateProviderDefinition } from './security/define-certificate-provider';

/**
 * Makes a type of channel credentials known that a bootstrap may name for a management server (gRFC A27,
 * `xds_servers[].channel_creds[].type`). To be called before the first channel with an `xds:` target is made, which
 * reads the bootstrap; it stays in force whatever bootstrap a later call to `register` brings.
 *
 * A type takes the place of one registered before under that name, those of this package included. It is for
 * servers that speak gRPC; those with an `https:` URI take the type `tls` only.
 *
 * @throws Error if the name of the type is empty.
 */
export function registerChannelCredentials<Config>(
  definition: ChannelCredentialsDefinition<Config>,
): void {
  loadRuntime().registerChannelCredentials(definition);
}

/**
 * Registers a kind of certificate provider that `certificate_providers` in the bootstrap may name (gRFC A29). To be called
 * before the first channel with an `xds:` target is made, which reads the bootstrap: an instance whose plugin is not
 * registered is ignored, with a line in the log, and a cluster that names it is rejected. It stays in force whatever
 * bootstrap a later call to `register` brings.
 *
 * A provider takes the place of one registered before under that name, those of this package included.
 *
 * @throws Error if the name is empty.
 */
export function registerCertificateProvider<Config>(
  definition: CertificateProviderDefinition<Config>,
): void {
  loadRuntime().registerCertificateProvider(definition);
}

/**
 * Makes an HTTP filter of the application known to all `xds:` channels of the process (gRFC A39). To be called before
 * the first call on such a channel: a listener that names an unknown filter is rejected, and is not read again until
 * it changes.
 *
 * A filter takes the place of one registered before for the same type, those of this package included. Only the
 * router cannot be replaced.
 *
 * @throws Error if the definition names no types, or that of the router.
 */
export function registerHttpFilter<Config, Override = Config>(
  definition: HttpFilterDefinition<Config, Override>,
): void {
  loadRuntime().registerHttpFilter(definition);
}

/**
 * Makes a load-balancing policy of the application known to all `xds:` channels of the process (gRFC A52). To be called
 * before the first call on such a channel: a cluster is not read again until it changes.
 *
 * A policy takes the place of one registered before under the same name, those of this package included. Only the
 * policies the tree itself is made of cannot be replaced.
 *
 * @throws Error if the definition has no name, or that of a policy that cannot be replaced.
 */
export function registerLbPolicy<Config>(definition: LbPolicyDefinition<Config>): void {
  loadRuntime().registerLbPolicy(definition);
}
