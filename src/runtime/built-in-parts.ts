import { CallCredentialsRegistry } from '../credentials/call-creds-registry';
import {
  builtInChannelCredentials,
  processChannelCredentials,
} from '../credentials/channel-creds-registry';
import type * as GcpIdentity from '../credentials/gcp-identity-token';
import { createJwtTokenFileType } from '../credentials/jwt-token-file-type';
import { ManagementCredentials } from '../credentials/management-credentials';
import type * as Composite from '../http-filters/composite/composite-filter';
import { createFaultFilter } from '../http-filters/fault/fault-filter';
import { createGcpAuthnFilter } from '../http-filters/gcp-authn/gcp-authn-filter';
import type { HttpFilter } from '../http-filters/http-filter';
import type { HttpFilterRegistry } from '../http-filters/registry';
import { createStatefulSessionFilter } from '../http-filters/stateful-session/stateful-session-filter';
import type { PolicyEnvironment } from '../lb/registry/create-policy-registry';
import type { LbPolicyRegistry } from '../lb/registry/lb-policy-registry';
import { Re2Compiler } from '../regex/re2-compiler';
import type { RegexMeter } from '../regex/regex-meter';
import { createResourceTypes, type ResourceTypes } from '../resources/resource-types';
import type { CertificateProviderRegistry } from '../security/certificate-provider-registry';
import type * as Sds from '../security/sds/sds';
import type { SdsOptions } from '../security/sds/sds';
import { createFileWatcher } from '../security/file-watcher/file-watcher';

/** Adds all credential types of this package. Those of the application take precedence. */
export function createCredentials(environment: PolicyEnvironment): ManagementCredentials {
  const channel = processChannelCredentials;
  for (const type of builtInChannelCredentials(environment)) channel.registerDefault(type);
  const { bootstrapCallCreds } = environment.flags;
  const callTypes = bootstrapCallCreds ? [createJwtTokenFileType(environment)] : [];
  return new ManagementCredentials({ channel, call: new CallCredentialsRegistry(callTypes) });
}

/** Adds all certificate providers of this package. Those of the application take precedence. */
export function addCertificateProviders(
  types: CertificateProviderRegistry,
  {
    flags,
    ...ambient
  }: PolicyEnvironment & Omit<SdsOptions, 'spiffeBundles' | 'dataErrorHandling'>,
): void {
  types.registerDefault(createFileWatcher(flags));
  types.registerDefault(lateSds(() => loadSds().createSds({ ...ambient, ...flags })));
}

/** Adds all HTTP filters of this package. Those of the application take precedence. */
export function addHttpFilters(
  filters: HttpFilterRegistry,
  { flags, clock, random, logger }: PolicyEnvironment,
): void {
  if (flags.faultInjection) filters.registerDefault(createFaultFilter({ clock, random }));
  if (flags.overrideHost) filters.registerDefault(createStatefulSessionFilter({ logger }));
  if (flags.gcpAuthentication) {
    const create = (audience: string) =>
      loadGcpIdentity().createGcpIdentityCredentials(audience, { clock, random });
    filters.registerDefault(createGcpAuthnFilter(create));
  }
  if (flags.compositeFilter) {
    const load = () => loadComposite().createCompositeFilter({ filters, random });
    filters.registerDefault(lateComposite(load));
  }
}

/** Creates the resource types of the clients of this process, with these extensions. */
export function createRuntimeResourceTypes(
  lbConfigs: LbPolicyRegistry,
  httpFilters: HttpFilterRegistry,
  { flags, limits, regexes }: PolicyEnvironment & { readonly regexes: RegexMeter },
): ResourceTypes {
  return createResourceTypes({
    ...{ lbConfigs, httpFilters },
    regexes: new Re2Compiler(limits, regexes),
    keepDraining: flags.overrideHost,
    maxEndpointsPerAssignment: limits.maxEndpointsPerAssignment,
    maxEndpoints: limits.maxEndpoints,
    additionalAddresses: flags.dualstackEndpoints,
    customLbConfig: flags.customLbConfig,
    federation: flags.federation,
    endpointCollections: flags.endpointFallback,
    retries: flags.retry,
    systemRootCerts: flags.systemRootCerts,
    sni: flags.sni,
    authorityRewrite: flags.authorityRewrite,
    literalAuthorityRewrite: flags.literalAuthorityRewrite,
    gcpAuthentication: flags.gcpAuthentication,
    httpConnect: flags.httpConnect,
  });
}

/** Loaded late, because few processes run in Google Cloud. */
function loadGcpIdentity(): typeof GcpIdentity {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- the only way to load a module late without waiting for it; the type is that of the module
  return require('../credentials/gcp-identity-token');
}

/** The composite filter, loaded for its first config: few processes use it. */
function lateComposite(load: () => HttpFilter): HttpFilter {
  let filter: HttpFilter | undefined;
  const loaded = () => (filter ??= load());
  return {
    configTypes: ['envoy.extensions.common.matching.v3.ExtensionWithMatcher'],
    overrideTypes: ['envoy.extensions.common.matching.v3.ExtensionWithMatcherPerRoute'],
    isTerminal: false,
    parseConfig: (...args) => loaded().parseConfig(...args),
    parseOverride: (...args) => loaded().parseOverride(...args),
    prepare: (...args) => loaded().prepare(...args),
  };
}

/** The provider of secrets, loaded for the first bootstrap that names it. */
function lateSds(load: () => SdsType): SdsType {
  let type: SdsType | undefined;
  const loaded = () => (type ??= load());
  return {
    ...{ name: 'sds', isPerNode: true },
    parseConfig: (config, violations) => loaded().parseConfig(config, violations),
    create: (config, context) => loaded().create(config, context),
  };
}

type SdsType = ReturnType<(typeof Sds)['createSds']>;

// `require` loads a module on first use, without waiting; the type is that of the module.
function loadComposite(): typeof Composite {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- see above
  return require('../http-filters/composite/composite-filter');
}

function loadSds(): typeof Sds {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- see above
  return require('../security/sds/sds');
}
