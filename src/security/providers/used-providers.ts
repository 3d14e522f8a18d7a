import { isDeepStrictEqual } from 'node:util';
import type { CertificateInstances } from '../../bootstrap/bootstrap';
import type { Clock } from '../../util/clock';
import { createHandle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import { err } from '../../util/result';
import { Violations } from '../../util/violations';
import type { CertificateInstance } from '../../resources/tls/tls';
import {
  subjectOf,
  type CertificateProvider,
  type CertificateProviderContext,
  type CertificateProviderType,
  type Certificates,
  type CertificateWatch,
} from './certificate-provider';

/** The environment of certificate providers. */
export interface UsedProvidersOptions {
  /** The plugins, by name. */
  readonly types: { get(pluginName: string): CertificateProviderType | undefined };
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Certificates that a cluster uses. */
export interface CertificatesInUse {
  readonly instanceName: string;
  readonly pluginName: string;
  readonly certificateName: string;
  readonly current: Certificates;
}

interface UsedProvider {
  /** The plugin, the config and, if it matters, the node. */
  readonly origin: readonly unknown[];
  readonly provider: CertificateProvider;
  readonly watches: Set<CertificatesInUse>;
}

/**
 * The certificate providers of a process that are in use. Instances with the same plugin and config share one provider, whatever
 * bootstrap they are of. A provider exists while its certificates are watched.
 */
export class UsedProviders {
  private readonly providers = new Set<UsedProvider>();

  constructor(private readonly options: UsedProvidersOptions) {}

  /** Lists the certificates in use, each once. */
  inUse(): readonly CertificatesInUse[] {
    const byKey = new Map<string, CertificatesInUse>();
    for (const { watches } of this.providers) {
      for (const used of watches) {
        byKey.set(JSON.stringify([used.instanceName, used.pluginName, used.certificateName]), used);
      }
    }
    return [...byKey.values()];
  }

  /** Watches the certificates of an instance of a bootstrap, as `CertificateSource.watch` does. */
  watch(
    bootstrap: CertificateInstances & Pick<CertificateProviderContext, 'connectionOptions'>,
    { instanceName, certificateName }: CertificateInstance,
    onChanged: () => void,
  ): CertificateWatch {
    const { certificateProviders, source, node, connectionOptions } = bootstrap;
    const instance = certificateProviders.get(instanceName);
    if (instance === undefined) {
      return failedWatch(
        `certificate provider instance "${instanceName}" is not among those of the bootstrap ${source}`,
      );
    }
    const { pluginName } = instance;
    const { types, clock, logger } = this.options;
    const type = types.get(pluginName);
    const violations = Violations.root();
    const config = type?.parseConfig(instance.config, violations);
    if (type === undefined || config === undefined) {
      const reason = violations.all.join('; ') || `plugin ${pluginName} is not registered`;
      return failedWatch(subjectOf({ instanceName }) + reason);
    }
    const origin = [pluginName, instance.config, type.isPerNode === true && node];
    const context = { instanceName, node, clock, logger, connectionOptions };
    const used = [...this.providers].find((each) => isDeepStrictEqual(each.origin, origin)) ?? {
      origin,
      provider: type.create(config, context),
      watches: new Set<CertificatesInUse>(),
    };
    this.providers.add(used);
    const watch = used.provider.watch(certificateName, onChanged);
    const certificates: CertificatesInUse & CertificateWatch = {
      instanceName,
      pluginName,
      certificateName,
      get current(): Certificates {
        return watch.current;
      },
      release: () => handle.release(),
    };
    used.watches.add(certificates);
    const handle = createHandle(() => {
      used.watches.delete(certificates);
      watch.release();
      if (used.watches.size > 0) return;
      this.providers.delete(used);
      used.provider.close?.();
    });
    return certificates;
  }
}

/** Returns a watch on certificates that never exist, for one reason. */
function failedWatch(reason: string): CertificateWatch {
  return { current: { roots: err(reason), identity: err(reason) }, release() {} };
}
