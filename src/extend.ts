import type { ChannelCredentialsDefinition } from './security/credentials/define-channel-credentials';
import type { HttpFilterDefinition } from './http-filters/define-http-filter';
import {
  CLUSTER_SPECIFIER,
  type ClusterSpecifierPluginDefinition,
} from './lb/cluster-specifiers/definition';
import { LB_POLICY, type LbPolicyDefinition } from './lb/custom/definition';
import { loadRuntime } from './register';
import type { CertificateProviderDefinition } from './security/providers/define-certificate-provider';
import {
  checkDefinition,
  FUNCTION,
  optional,
  TEXT,
  TEXTS,
  type MembersOf,
} from './util/check-arguments';
import { noteUse } from './util/package-copy';

/**
 * Registers a type of channel credentials for management servers (gRFC A27, `xds_servers[].channel_creds[].type` of the
 * bootstrap). Call it before the first channel with an `xds:` target is created, which reads the bootstrap. It also
 * applies to the bootstrap of a later call to `register`.
 *
 * A type replaces an earlier one of the same name, including the built-in ones. It applies to servers that speak gRPC; servers with
 * an `https:` URI support only the type `tls`.
 *
 * @throws XdsError if the definition lacks a member, or has an unknown one, or the name of the type is empty.
 *
 * @example
 * ```ts
 * import { credentials } from '@grpc/grpc-js';
 * import { registerChannelCredentials } from 'grpc-xds';
 *
 * registerChannelCredentials({
 *   type: 'acme_vault',
 *   parseConfig: ({ role }) => ({ role: String(role) }),
 *   create({ role }) {
 *     const { ca, key, certificate } = vault.certificatesFor(role);
 *     return credentials.createSsl(ca, key, certificate);
 *   },
 * });
 * ```
 */
export function registerChannelCredentials<Config>(
  definition: ChannelCredentialsDefinition<Config>,
): void {
  checkDefinition('registerChannelCredentials()', definition, CHANNEL_CREDENTIALS);
  noteUse();
  loadRuntime().registerChannelCredentials(definition);
}

/**
 * Registers a kind of certificate provider for `certificate_providers` of the bootstrap (gRFC A29). Call it before the
 * first channel with an `xds:` target is created, which reads the bootstrap: an instance of an unregistered plugin is
 * ignored, with a line in the log, and a cluster that names it is rejected. It also applies to the bootstrap of a later
 * call to `register`.
 *
 * A provider replaces an earlier one of the same name, including the built-in ones.
 *
 * @throws XdsError if the definition lacks a member or has an unknown one, or the name is empty.
 *
 * @example
 * ```ts
 * import { registerCertificateProvider } from 'grpc-xds';
 *
 * registerCertificateProvider({
 *   name: 'acme_vault',
 *   parseConfig: ({ role }) => ({ role: String(role) }),
 *   create: ({ role }) => ({
 *     watch(_name, watcher) {
 *       const { ca } = vault.certificatesFor(role);
 *       watcher.onRoots({ certificates: ca.toString() });
 *       return () => undefined;
 *     },
 *   }),
 * });
 * ```
 */
export function registerCertificateProvider<Config>(
  definition: CertificateProviderDefinition<Config>,
): void {
  checkDefinition('registerCertificateProvider()', definition, CERTIFICATE_PROVIDER);
  noteUse();
  loadRuntime().registerCertificateProvider(definition);
}

/**
 * Registers an HTTP filter of the application for all `xds:` channels of the process, and all servers that a control plane configures
 * (gRFC A39). Call it before the first call on such a channel: a listener that names an unknown filter is rejected, and is not
 * parsed again until it changes.
 *
 * A filter replaces an earlier one of the same type, including the built-in ones except the router.
 *
 * @throws XdsError if the definition lacks a member, such as both `createCallFilter` and `createServerFilter`, or has an unknown
 *   one; if it names no types, or the type of the router.
 *
 * @example
 * ```ts
 * import { registerHttpFilter } from 'grpc-xds';
 *
 * registerHttpFilter({
 *   configTypes: ['acme.v1.Stamp'],
 *   parseConfig: () => ({ name: 'x-stamp' }),
 *   createCallFilter: ({ name }) => ({
 *     onRequestHeaders(headers) {
 *       headers.set(name, 'acme');
 *       return headers;
 *     },
 *   }),
 * });
 * ```
 */
export function registerHttpFilter<Config, Override = Config>(
  definition: HttpFilterDefinition<Config, Override>,
): void {
  checkDefinition('registerHttpFilter()', definition, HTTP_FILTER);
  noteUse();
  loadRuntime().registerHttpFilter(definition);
}

/**
 * Registers a load-balancing policy of the application for all `xds:` channels of the process (gRFC A52). Call it before
 * the first call on such a channel: a cluster is not parsed again until it changes.
 *
 * A policy replaces an earlier one of the same name, including the built-in ones except the policies of the tree above the
 * endpoints.
 *
 * @throws XdsError if the definition lacks a member, has an unknown one, or if its name is empty or belongs to a policy that
 *   cannot be replaced.
 *
 * @example
 * ```ts
 * import { registerLbPolicy } from 'grpc-xds';
 *
 * registerLbPolicy({
 *   name: 'acme.v1.First',
 *   parseConfig: () => ({}),
 *   create: (host) => ({
 *     update: ({ localities }) => localities[0]?.connections[0]?.connect(),
 *     onConnectionChanged(connection) {
 *       const pick = () => connection;
 *       if (connection.state === 'ready') host.publish({ kind: 'ready', picker: { pick } });
 *     },
 *   }),
 * });
 * ```
 */
export function registerLbPolicy<Config>(definition: LbPolicyDefinition<Config>): void {
  checkDefinition('registerLbPolicy()', definition, LB_POLICY);
  noteUse();
  loadRuntime().registerLbPolicy(definition);
}

/**
 * Registers a cluster specifier plugin of the application for all `xds:` channels of the process: routes that name it
 * (`cluster_specifier_plugin`) get the load-balancing policy that it returns. Call it before the first call on such a channel: a
 * route configuration with an unknown plugin is rejected, unless the plugin is optional, and is not parsed again until it changes.
 *
 * A plugin replaces an earlier one of the same type, including the built-in `grpc.lookup.v1.RouteLookupClusterSpecifier`.
 *
 * @throws XdsError if the definition lacks a member or has an unknown one, or names no types.
 *
 * @example
 * ```ts
 * import { registerClusterSpecifierPlugin } from 'grpc-xds';
 *
 * registerClusterSpecifierPlugin({
 *   configTypes: ['acme.v1.Shard'],
 *   toLbConfig: (input) => {
 *     if (input.kind !== 'json') throw new Error('must be in a TypedStruct');
 *     return [{ cds_experimental: { cluster: `shard-${input.json.shard}`, isDynamic: true } }];
 *   },
 * });
 * ```
 */
export function registerClusterSpecifierPlugin(definition: ClusterSpecifierPluginDefinition): void {
  checkDefinition('registerClusterSpecifierPlugin()', definition, CLUSTER_SPECIFIER);
  noteUse();
  loadRuntime().registerClusterSpecifierPlugin(definition);
}

const CHANNEL_CREDENTIALS: MembersOf<ChannelCredentialsDefinition<unknown>> = {
  type: TEXT,
  parseConfig: FUNCTION,
  create: FUNCTION,
};

const CERTIFICATE_PROVIDER: MembersOf<CertificateProviderDefinition<unknown>> = {
  name: TEXT,
  parseConfig: FUNCTION,
  create: FUNCTION,
};

const HTTP_FILTER: MembersOf<HttpFilterDefinition<unknown>> = {
  configTypes: TEXTS,
  parseConfig: FUNCTION,
  createCallFilter: optional(FUNCTION),
  createServerFilter: optional(FUNCTION),
  overrideTypes: optional(TEXTS),
  parseOverride: optional(FUNCTION),
  describe: optional(FUNCTION),
};
