import { showRoutedCalls } from '../grpc-js/routed-call';
import type { BootstrapSupport } from '../bootstrap/bootstrap-parser';
import { DEFAULT_LIMITS, type Limits } from '../bootstrap/limits';
import { CredentialsRegistry } from '../security/credentials/credentials-registry';
import type * as GcpIdentity from '../security/credentials/gcp-identity-token';
import type * as ServiceCredentials from '../security/credentials/service-credentials';
import {
  builtInChannelCredentials,
  createJwtTokenFileType,
  ManagementCredentials,
  processChannelCredentials,
} from '../security/credentials/management-credentials';
import type * as Composite from '../http-filters/composite/composite-filter';
import type * as ExtAuthz from '../http-filters/ext-authz/ext-authz-filter';
import type * as Fault from '../http-filters/fault/fault-filter';
import type * as GcpAuthn from '../http-filters/gcp-authn/gcp-authn-filter';
import type * as SideChannels from '../http-filters/grpc-service/side-channels';
import type * as HeaderMutation from '../http-filters/header-mutation/header-mutation-filter';
import type * as LocalRateLimit from '../http-filters/local-ratelimit/local-ratelimit-filter';
import type { ClientFilter } from '../http-filters/client-filter';
import type { HttpFilter } from '../http-filters/http-filter';
import type * as AuditLoggers from '../authorization/audit-logger';
import type * as Rbac from '../http-filters/rbac/rbac-filter';
import type { HttpFilterRegistry } from '../http-filters/registry';
import type { ServerHttpFilter } from '../http-filters/server-filter';
import type * as StatefulSession from '../http-filters/stateful-session/stateful-session-filter';
import { clusterSpecifiers } from '../lb/cluster-specifiers/registry';
import { createPolicyRegistry } from '../lb/registry/create-policy-registry';
import type { PolicyEnvironment } from '../lb/registry/policy-table';
import type { LbPolicyRegistry } from '../lb/registry/lb-policy-registry';
import type * as Re2 from '../resources/matching/re2-compiler';
import { MatchMeter } from '../resources/matching/match-meter';
import type { RegexCompilers } from '../resources/extension-points';
import { createResourceTypes, type ResourceTypes } from '../resources/resource-types';
import type { CertificateProviderType } from '../security/providers/certificate-provider';
import {
  CertificateProviders,
  processCertificateProviders,
} from '../security/providers/certificate-providers';
import type * as FileWatcher from '../security/providers/file-watcher';
import type * as Sds from '../security/providers/sds';
import { TransportFactory } from '../transport/transport-factory';
import { systemClock } from '../util/clock';
import { XxHash64 } from '../util/hashes';
import { lazy } from '../util/lazy';
import { silentLogger } from '../util/logger';
import { systemRandom } from '../util/random';
import type { UserAgent } from '../xds-client/management-servers';
import type { XdsTransportFactory } from '../xds-client/transport';

const loadAuditLoggers = lazy<typeof AuditLoggers>(() => require('../authorization/audit-logger'));
const loadComposite = lazy<typeof Composite>(() =>
  require('../http-filters/composite/composite-filter'),
);
const loadExtAuthz = lazy<typeof ExtAuthz>(() =>
  require('../http-filters/ext-authz/ext-authz-filter'),
);
const loadFault = lazy<typeof Fault>(() => require('../http-filters/fault/fault-filter'));
const loadFileWatcher = lazy<typeof FileWatcher>(() =>
  require('../security/providers/file-watcher'),
);
const loadGcpAuthn = lazy<typeof GcpAuthn>(() =>
  require('../http-filters/gcp-authn/gcp-authn-filter'),
);
const loadGcpIdentity = lazy<typeof GcpIdentity>(() =>
  require('../security/credentials/gcp-identity-token'),
);
const loadHeaderMutation = lazy<typeof HeaderMutation>(() =>
  require('../http-filters/header-mutation/header-mutation-filter'),
);
const loadLocalRateLimit = lazy<typeof LocalRateLimit>(() =>
  require('../http-filters/local-ratelimit/local-ratelimit-filter'),
);
const loadRbac = lazy<typeof Rbac>(() => require('../http-filters/rbac/rbac-filter'));
const loadRe2 = lazy<typeof Re2>(() => require('../resources/matching/re2-compiler'));
const loadSds = lazy<typeof Sds>(() => require('../security/providers/sds'));
const loadServiceCredentials = lazy<typeof ServiceCredentials>(() =>
  require('../security/credentials/service-credentials'),
);
const loadSideChannels = lazy<typeof SideChannels>(() =>
  require('../http-filters/grpc-service/side-channels'),
);
const loadStatefulSession = lazy<typeof StatefulSession>(() =>
  require('../http-filters/stateful-session/stateful-session-filter'),
);

/** Completes the environment of clients. Default: that of the system, which logs nothing, with the limits of every process. */
export function createEnvironment(
  given: Pick<PolicyEnvironment, 'flags'> & Partial<PolicyEnvironment>,
): PolicyEnvironment {
  return {
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    hash: new XxHash64(),
    limits: DEFAULT_LIMITS,
    ...given,
  };
}

/** What a program needs to connect to management servers. */
export interface ServerAccess {
  readonly transportFactory: XdsTransportFactory;
  /** What a bootstrap may name. */
  readonly support: BootstrapSupport;
}

/**
 * Creates transports with the credentials and certificate providers of the process: those of the application, before those
 * of this package.
 *
 * @param wrap Returns what is used in place of the transports.
 */
export function createServerAccess(
  environment: PolicyEnvironment,
  userAgent: UserAgent,
  wrap: (factory: XdsTransportFactory) => XdsTransportFactory = (factory) => factory,
): ServerAccess {
  const { flags } = environment;
  const channel = processChannelCredentials;
  for (const type of builtInChannelCredentials(environment)) channel.registerDefault(type);
  const callTypes = flags.bootstrapCallCreds ? [createJwtTokenFileType(environment)] : [];
  const call = new CredentialsRegistry('call', callTypes);
  const credentials = new ManagementCredentials({ channel, call });
  const transportFactory = wrap(new TransportFactory({ ...environment, credentials }));
  const { support } = credentials;
  const providers = processCertificateProviders;
  providers.registerDefault(
    lateProvider({ name: 'file_watcher' }, () => loadFileWatcher().createFileWatcher(flags)),
  );
  providers.registerDefault(
    lateProvider({ name: 'sds', isPerNode: true }, () =>
      loadSds().createSds({ ...environment, ...flags, transportFactory, userAgent, support }),
    ),
  );
  return { transportFactory, support: { ...support, certificateProviders: providers } };
}

/** What resources are read with, and calls matched. */
export interface ClientParts {
  readonly types: ResourceTypes;
  readonly httpFilters: HttpFilterRegistry;
  readonly meter: MatchMeter;
  readonly limits: Limits;
}

/** Creates the parts of a client, with the filters and policies of this package that the flags enable. */
export function createParts(
  environment: PolicyEnvironment,
  httpFilters: HttpFilterRegistry,
  policies: LbPolicyRegistry = createPolicyRegistry(environment),
): ClientParts {
  const { limits } = environment;
  const meter = new MatchMeter(limits, environment.logger);
  addHttpFilters(httpFilters, { ...environment, meter });
  const types = createRuntimeResourceTypes(policies, httpFilters, { ...environment, meter });
  return { types, httpFilters, meter, limits };
}

/** Adds all HTTP filters of this package. Those of the application take precedence. */
function addHttpFilters(
  filters: HttpFilterRegistry,
  environment: PolicyEnvironment & { readonly meter: MatchMeter },
): void {
  const { flags, clock, random, logger, limits, meter } = environment;
  const add = (types: FilterTypes, load: () => ClientFilter) =>
    filters.registerDefault(lateClientFilter(types, load));
  if (flags.faultInjection) add(FAULT, () => loadFault().createFaultFilter({ clock, random }));
  if (flags.overrideHost)
    add(STATEFUL_SESSION, () => loadStatefulSession().createStatefulSessionFilter({ logger }));
  if (flags.gcpAuthentication) {
    add(GCP_AUTHN, () => {
      // With the filter, not by its first call.
      const { createGcpIdentityCredentials } = loadGcpIdentity();
      return loadGcpAuthn().createGcpAuthnFilter((audience) =>
        createGcpIdentityCredentials(audience, { clock, random }),
      );
    });
  }
  const addToBoth = (types: FilterTypes, load: () => ClientFilter & ServerHttpFilter) => {
    const loaded = once(load);
    const onServers = lateServerFilter(types, loaded);
    filters.registerDefault({ ...onServers, ...lateClientFilter(types, loaded) });
  };
  if (flags.compositeFilter)
    addToBoth(COMPOSITE, () => loadComposite().createCompositeFilter({ filters, random, meter }));
  const regexes = createRegexes(limits, meter);
  if (flags.envoyFeatures) {
    const load = once(() => loadHeaderMutation().createHeaderMutationFilter(regexes));
    const filter: ClientFilter = {
      ...lateClientFilter(HEADER_MUTATION, load),
      combineOverrides: (...args) => load().combineOverrides(...args),
    };
    filters.registerDefault(filter);
    add(LOCAL_RATE_LIMIT, () => loadLocalRateLimit().createLocalRateLimitFilter(clock, random));
  }
  if (flags.extAuthz) showRoutedCalls();
  if (flags.extAuthz || flags.extAuthzOnServers) {
    const load = once(() => {
      const { SideChannels: Channels } = loadSideChannels();
      const { createServiceCredentials } = loadServiceCredentials();
      const callTypes = flags.bootstrapCallCreds ? [createJwtTokenFileType(environment)] : [];
      const types = processCertificateProviders;
      const certificates = new CertificateProviders({ clock, logger, types });
      const channels = new Channels(
        createServiceCredentials(processChannelCredentials, callTypes, certificates, clock),
        clock,
      );
      const own = { clock, random, regexes, channels, meter, logger };
      return loadExtAuthz().createExtAuthzFilter(own);
    });
    filters.registerDefault({
      ...lateFilter(EXT_AUTHZ, load),
      ...(flags.extAuthz && lateClientFilter(EXT_AUTHZ, load)),
      ...(flags.extAuthzOnServers && lateServerFilter(EXT_AUTHZ, load)),
    });
  }
  const createRbac = () => {
    const auditLoggers = loadAuditLoggers().processAuditLoggers;
    return loadRbac().createRbacFilter({ regexes, meter, auditLoggers, logger });
  };
  filters.registerDefault(lateServerFilter(RBAC, createRbac));
}

type FilterTypes = Pick<HttpFilter, 'configTypes' | 'overrideTypes'>;

const FAULT = sameTypes('envoy.extensions.filters.http.fault.v3.HTTPFault');
const STATEFUL_SESSION: FilterTypes = {
  configTypes: ['envoy.extensions.filters.http.stateful_session.v3.StatefulSession'],
  overrideTypes: ['envoy.extensions.filters.http.stateful_session.v3.StatefulSessionPerRoute'],
};
const GCP_AUTHN = sameTypes('envoy.extensions.filters.http.gcp_authn.v3.GcpAuthnFilterConfig');
const LOCAL_RATE_LIMIT = sameTypes(
  'envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit',
);
const COMPOSITE: FilterTypes = {
  configTypes: ['envoy.extensions.common.matching.v3.ExtensionWithMatcher'],
  overrideTypes: ['envoy.extensions.common.matching.v3.ExtensionWithMatcherPerRoute'],
};
const EXT_AUTHZ: FilterTypes = {
  configTypes: ['envoy.extensions.filters.http.ext_authz.v3.ExtAuthz'],
  overrideTypes: ['envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute'],
};
const HEADER_MUTATION: FilterTypes = {
  configTypes: ['envoy.extensions.filters.http.header_mutation.v3.HeaderMutation'],
  overrideTypes: ['envoy.extensions.filters.http.header_mutation.v3.HeaderMutationPerRoute'],
};

const RBAC: FilterTypes = {
  configTypes: ['envoy.extensions.filters.http.rbac.v3.RBAC'],
  overrideTypes: ['envoy.extensions.filters.http.rbac.v3.RBACPerRoute'],
};

/** Returns the types of a filter whose overrides are configs. */
function sameTypes(type: string): FilterTypes {
  return { configTypes: [type], overrideTypes: [type] };
}

/** Returns a filter of clients that is loaded for its first config. */
function lateClientFilter(types: FilterTypes, load: () => ClientFilter): ClientFilter {
  const loaded = once(load);
  return { ...lateFilter(types, loaded), prepare: (...args) => loaded().prepare(...args) };
}

/** Returns a filter of servers that is loaded for its first config. */
function lateServerFilter(types: FilterTypes, load: () => ServerHttpFilter): ServerHttpFilter {
  const loaded = once(load);
  return {
    ...lateFilter(types, loaded),
    createServerFilter: (...args) => loaded().createServerFilter(...args),
  };
}

function once<T>(create: () => T): () => T {
  let created: T | undefined;
  return () => (created ??= create());
}

function lateFilter(types: FilterTypes, loaded: () => HttpFilter): HttpFilter {
  return {
    ...types,
    isTerminal: false,
    parseConfig: (...args) => loaded().parseConfig(...args),
    parseOverride: (...args) => loaded().parseOverride(...args),
    retain: (config) => loaded().retain?.(config),
  };
}

/** Returns a certificate provider that is loaded for the first bootstrap that names it. */
function lateProvider<Config>(
  names: Pick<CertificateProviderType, 'name' | 'isPerNode'>,
  load: () => CertificateProviderType<Config>,
): CertificateProviderType<Config> {
  const loaded = once(load);
  return {
    ...names,
    parseConfig: (config, violations) => loaded().parseConfig(config, violations),
    create: (config, context) => loaded().create(config, context),
  };
}

/** Returns the compilers of regular expressions, which are loaded for the first one. */
function lateRegexes(limits: Limits, load: () => RegexCompilers): RegexCompilers {
  const loaded = once(load);
  return {
    forResource() {
      const compiler = once(() => loaded().forResource());
      return {
        maxSubstitutionLength: limits.maxRegexSubstitutionLength,
        compile: (pattern, violations) => compiler().compile(pattern, violations),
        keep: (regex) => compiler().keep(regex),
      };
    },
  };
}

function createRegexes(limits: Limits, meter: MatchMeter): RegexCompilers {
  return lateRegexes(limits, () => new (loadRe2().Re2Compiler)(limits, meter));
}

/** Creates the resource types of the clients of this process, with these extensions. */
function createRuntimeResourceTypes(
  lbConfigs: LbPolicyRegistry,
  httpFilters: HttpFilterRegistry,
  { flags, limits, meter }: PolicyEnvironment & { readonly meter: MatchMeter },
): ResourceTypes {
  return createResourceTypes({
    lbConfigs,
    httpFilters,
    clusterSpecifiers,
    regexes: createRegexes(limits, meter),
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
    envoyFeatures: flags.envoyFeatures,
  });
}
