import { DEFAULT_LIMITS } from '../../bootstrap/limits';
import type { BootstrapSupport } from '../../bootstrap/bootstrap-parser';
import type { ManagementCredentials } from '../../security/credentials/management-credentials';
import { XxHash64 } from '../../util/xx-hash';
import { HttpFilterRegistry } from '../../http-filters/registry';
import { routerFilter } from '../../http-filters/router/router-filter';
import { createPolicyRegistry } from '../../lb/registry/create-policy-registry';
import type { PolicyEnvironment } from '../../lb/registry/policy-table';
import { MatchMeter } from '../../resources/matching/match-meter';
import type { ResourceTypes } from '../../resources/resource-types';
import {
  addCertificateProviders,
  addHttpFilters,
  createCredentials,
  createRuntimeResourceTypes,
} from '../../runtime/built-in-parts';
import { processCertificateProviders } from '../../security/providers/certificate-providers';
import { TransportFactory } from '../../transport/transport-factory';
import type { Clock } from '../../util/clock';
import { type FeatureFlags, readFeatureFlags } from '../../util/feature-flags';
import { silentLogger } from '../../util/logger';
import { systemRandom } from '../../util/random';
import { PACKAGE_VERSION } from '../../util/version';
import type { UserAgent } from '../../xds-client/node';
import type { XdsTransportFactory } from '../../xds-client/transport';

/** The name under which the commands appear to management servers. */
export const USER_AGENT: UserAgent = { name: 'grpc-xds (command line)', version: PACKAGE_VERSION };

/** What a command needs of its surroundings. */
export interface ClientSurroundings {
  readonly clock: Clock;
  /** The environment variables, as in `process.env`. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A client without its bootstrap: the parts that all commands have in common. */
export interface ClientParts {
  readonly environment: PolicyEnvironment;
  readonly types: ResourceTypes;
  readonly httpFilters: HttpFilterRegistry;
  readonly meter: MatchMeter;
}

/**
 * Creates the parts of a client, with every policy and filter of this package that the environment variables enable.
 *
 * @param overrides Flags that the command needs. Default: none.
 */
export function createClientParts(
  { clock, env }: ClientSurroundings,
  overrides: Partial<FeatureFlags> = {},
): ClientParts {
  const environment: PolicyEnvironment = {
    ...{ clock, random: systemRandom, logger: silentLogger },
    flags: { ...readFeatureFlags(env), ...overrides },
    ...{ hash: new XxHash64(), limits: DEFAULT_LIMITS },
  };
  const httpFilters = new HttpFilterRegistry([routerFilter]);
  addHttpFilters(httpFilters, environment);
  const policies = createPolicyRegistry(environment);
  const meter = new MatchMeter(environment.limits, silentLogger);
  const types = createRuntimeResourceTypes(policies, httpFilters, { ...environment, meter });
  return { environment, types, httpFilters, meter };
}

/** What a client needs to connect to management servers. */
export interface ServerAccess {
  readonly credentials: ManagementCredentials;
  readonly transportFactory: XdsTransportFactory;
  /** What a bootstrap may name. */
  readonly support: BootstrapSupport;
}

/** Creates the credentials, transports and certificate providers of this package. */
export function createServerAccess({ environment }: ClientParts): ServerAccess {
  const credentials = createCredentials(environment);
  const transportFactory = new TransportFactory({ ...environment, credentials });
  addCertificateProviders(processCertificateProviders, {
    ...{ ...environment, transportFactory, userAgent: USER_AGENT },
    support: credentials.support,
  });
  const support = { ...credentials.support, certificateProviders: processCertificateProviders };
  return { credentials, transportFactory, support };
}
