import type { BootstrapSupport } from '../bootstrap/bootstrap-parser';
import type { PolicyEnvironment } from '../lb/registry/policy-table';
import type { ManagementCredentials } from '../security/credentials/management-credentials';
import { processCertificateProviders } from '../security/providers/certificate-providers';
import { TransportFactory } from '../transport/transport-factory';
import type { UserAgent } from '../xds-client/management-servers';
import type { XdsTransportFactory } from '../xds-client/transport';
import { addCertificateProviders, createCredentials } from './built-in-parts';

/** What a program without channels needs to connect to management servers. */
export interface ServerAccess {
  readonly credentials: ManagementCredentials;
  readonly transportFactory: XdsTransportFactory;
  /** What a bootstrap may name. */
  readonly support: BootstrapSupport;
}

/** Creates the credentials, transports and certificate providers of this package. */
export function createServerAccess(
  environment: PolicyEnvironment,
  userAgent: UserAgent,
): ServerAccess {
  const credentials = createCredentials(environment);
  const transportFactory = new TransportFactory({ ...environment, credentials });
  addCertificateProviders(processCertificateProviders, {
    ...environment,
    transportFactory,
    userAgent,
    support: credentials.support,
  });
  const support = { ...credentials.support, certificateProviders: processCertificateProviders };
  return { credentials, transportFactory, support };
}
