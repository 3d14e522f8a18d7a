import type { Bootstrap } from '../../bootstrap/bootstrap';
import type { Clock } from '../../util/clock';
import { RefCountedMap } from '../../util/handle';
import type { Logger } from '../../util/logger';
import { Violations } from '../../util/violations';
import type { ConnectionOptions } from '../../xds-client/transport';
import {
  createWatch,
  failedWatch,
  subjectOf,
  type CertificateProvider,
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

/**
 * The certificate providers of a process that are in use. Instances with the same plugin and config share one provider, whatever
 * bootstrap they are of. A provider exists while its certificates are watched.
 */
export class UsedProviders {
  private readonly factories = new Map<string, () => CertificateProvider>();
  private readonly watches = new Set<CertificatesInUse>();
  private readonly providers = new RefCountedMap<string, CertificateProvider>(
    (key) => this.create(key),
    (provider, key) => {
      this.factories.delete(key);
      provider.close();
    },
  );

  constructor(private readonly options: UsedProvidersOptions) {}

  /** Lists the certificates in use, each once. */
  inUse(): readonly CertificatesInUse[] {
    const byKey = new Map<string, CertificatesInUse>();
    for (const used of this.watches) {
      byKey.set(JSON.stringify([used.instanceName, used.pluginName, used.certificateName]), used);
    }
    return [...byKey.values()];
  }

  /** Watches the certificates of an instance of a bootstrap, as `CertificateSource.watch` does. */
  watch(
    { certificateProviders, source, node }: Bootstrap,
    connectionOptions: ConnectionOptions | undefined,
    instanceName: string,
    certificateName: string,
    onChanged: () => void,
  ): CertificateWatch {
    const instance = certificateProviders.get(instanceName);
    if (instance === undefined) {
      return failedWatch(
        `certificate provider instance "${instanceName}" is not among those of the bootstrap ${source}`,
      );
    }
    const type = this.options.types.get(instance.pluginName);
    const violations = Violations.root();
    const config = type?.parseConfig(instance.config, violations);
    if (type === undefined || config === undefined) {
      const reason = violations.all.join('; ') || `plugin ${instance.pluginName} is not registered`;
      return failedWatch(subjectOf({ instanceName }) + reason);
    }
    const { clock, logger } = this.options;
    const { pluginName } = instance;
    const key = canonicalJson([pluginName, instance.config, type.isPerNode === true && node]);
    const create = () =>
      type.create(config, { instanceName, node, clock, logger, connectionOptions });
    if (!this.factories.has(key)) this.factories.set(key, create);
    const provider = this.providers.acquire(key);
    const watch = provider.value.watch(certificateName, onChanged);
    const used: CertificatesInUse = {
      instanceName,
      pluginName,
      certificateName,
      get current(): Certificates {
        return watch.current;
      },
    };
    this.watches.add(used);
    return createWatch(
      () => watch.current,
      () => {
        this.watches.delete(used);
        watch.release();
        provider.release();
      },
    );
  }

  private create(key: string): CertificateProvider {
    const create = this.factories.get(key);
    if (create === undefined) throw new Error('a certificate provider without a factory');
    return create();
  }
}

/** The same text for two values that differ only in the order of their members. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown): unknown => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    const entries: Iterable<readonly [unknown, unknown]> =
      part instanceof Map ? part : Object.entries(part);
    const members = [...entries].map(([name, member]) => [String(name), member] as const);
    return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
