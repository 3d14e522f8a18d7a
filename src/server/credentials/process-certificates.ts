import type { CertificateProviderConfig, NodeConfig } from '../../bootstrap/bootstrap';
import { createGrpcLogger, currentTracers } from '../../grpc-js/grpc-logger';
import { createEnvironment, createServerAccess } from '../../runtime/built-in-parts';
import { USER_AGENT } from '../../runtime/process-clients';
import type { CertificateSource } from '../../security/providers/certificate-provider';
import {
  CertificateProviders,
  processCertificateProviders,
} from '../../security/providers/certificate-providers';
import { systemClock } from '../../util/clock';
import { currentFeatureFlags } from '../../util/feature-flags';
import type { Logger } from '../../util/logger';
import { Violations } from '../../util/violations';
import { XdsError } from '../../util/xds-error';

/** The log of servers that no control plane configures: that of grpc-js. */
export const serverLogger: Logger = createGrpcLogger({
  isTracerOn: currentTracers(),
  // As grpc-js shows it by default (gRFC A36).
  recoveryLevel: () => 'error',
  clock: systemClock,
});

let providers: CertificateProviders | undefined;

/** The certificate providers of the servers of this process that no control plane configures. */
function serverProviders(): CertificateProviders {
  if (providers !== undefined) return providers;
  const environment = createEnvironment({ logger: serverLogger, flags: currentFeatureFlags() });
  createServerAccess(environment, USER_AGENT);
  providers = new CertificateProviders({ ...environment, types: processCertificateProviders });
  return providers;
}

/**
 * Returns the certificates of provider instances that an application configures itself.
 *
 * @param caller As in messages.
 * @throws XdsError if a plugin is not registered, or a config is not valid.
 */
export function certificatesOf(
  caller: string,
  instances: ReadonlyMap<string, CertificateProviderConfig>,
  node: NodeConfig,
): CertificateSource {
  const used = serverProviders();
  for (const [name, instance] of instances) {
    const violations = Violations.root();
    if (processCertificateProviders.has(instance.pluginName)) {
      processCertificateProviders.check(instance, violations.at(name));
    } else {
      violations.at(name).add(`no plugin "${instance.pluginName}" is registered`);
    }
    if (violations.count > 0)
      throw new XdsError('XDS_OPTION_INVALID', `${caller}: ${violations.all.join('; ')}`);
  }
  return used.of({ source: caller, node, certificateProviders: instances });
}
