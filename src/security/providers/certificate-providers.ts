import type { Bootstrap, CertificateProviderConfig, NodeConfig } from '../../bootstrap/bootstrap';
import type { Clock } from '../../util/clock';
import { createHandle, type Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import { RefCountedMap } from '../../util/ref-counted-map';
import { Violations } from '../../util/violations';
import type { ConnectionOptions } from '../../xds-client/transport';
import type { CertificateProvider, Certificates, CertificateWatch } from './certificate-provider';
import type { CertificateProviderRegistry } from './certificate-provider-registry';
import type { CertificateSource } from '../client/tls-policy';

/** The environment of certificate providers. */
export interface CertificateProvidersOptions {
  readonly types: CertificateProviderRegistry;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** An instance of a bootstrap. */
interface UsedInstance {
  readonly instanceName: string;
  readonly instance: CertificateProviderConfig;
  readonly node: NodeConfig;
  readonly connectionOptions: ConnectionOptions | undefined;
}

/** Certificates that a cluster uses. */
export interface CertificatesInUse {
  readonly instanceName: string;
  readonly pluginName: string;
  readonly certificateName: string;
  readonly current: Certificates;
}

interface SharedProvider {
  readonly key: string;
  readonly create: () => CertificateProvider;
}

/**
 * The certificate providers of a process. Instances with the same plugin and config share one provider, whatever
 * bootstrap they are of. A provider exists while its certificates are watched.
 */
export class CertificateProviders {
  private readonly factories = new Map<string, SharedProvider>();
  private readonly watches = new Set<CertificatesInUse>();
  private readonly providers = new RefCountedMap<string, CertificateProvider>(
    (key) => this.create(key),
    (provider, key) => {
      this.factories.delete(key);
      provider.close();
    },
  );

  constructor(private readonly options: CertificateProvidersOptions) {}

  /**
   * Returns the certificates of a bootstrap.
   * @param connectionOptions See `CertificateProviderContext`.
   */
  of(
    { certificateProviders, source, node }: Bootstrap,
    connectionOptions?: ConnectionOptions,
  ): CertificateSource {
    return {
      nodeId: node.id,
      watch: (instanceName, certificateName, onChanged) => {
        const instance = certificateProviders.get(instanceName);
        if (instance !== undefined) {
          const used = { instanceName, instance, node, connectionOptions };
          return this.watch(used, certificateName, onChanged);
        }
        return failedWatch(
          `certificate provider instance "${instanceName}" is not among those of the bootstrap ${source}`,
        );
      },
    };
  }

  /** Lists the certificates in use, each once. */
  inUse(): readonly CertificatesInUse[] {
    const byKey = new Map<string, CertificatesInUse>();
    for (const used of this.watches) {
      byKey.set(JSON.stringify([used.instanceName, used.pluginName, used.certificateName]), used);
    }
    return [...byKey.values()];
  }

  private watch(
    { instanceName, instance, node, connectionOptions }: UsedInstance,
    certificateName: string,
    onChanged: () => void,
  ): CertificateWatch {
    const type = this.options.types.get(instance.pluginName);
    const violations = Violations.root();
    const config = type?.parseConfig(instance.config, violations);
    if (type === undefined || config === undefined) {
      const reason = violations.all.join('; ') || `plugin ${instance.pluginName} is not registered`;
      return failedWatch(`certificate provider instance "${instanceName}": ${reason}`);
    }
    const { clock, logger } = this.options;
    const { pluginName } = instance;
    const key = canonicalJson([pluginName, instance.config, type.isPerNode === true && node]);
    const create = () =>
      type.create(config, { instanceName, node, clock, logger, connectionOptions });
    if (!this.factories.has(key)) this.factories.set(key, { key, create });
    const provider = this.providers.acquire(key);
    const watch = provider.value.watch(certificateName, onChanged);
    const used: CertificatesInUse = {
      ...{ instanceName, pluginName, certificateName },
      get current(): Certificates {
        return watch.current;
      },
    };
    this.watches.add(used);
    const handle: Handle = createHandle(() => {
      this.watches.delete(used);
      watch.release();
      provider.release();
    });
    return {
      get current(): Certificates {
        return used.current;
      },
      release: () => handle.release(),
    };
  }

  private create(key: string): CertificateProvider {
    const factory = this.factories.get(key);
    if (factory === undefined) throw new Error('a certificate provider without a factory');
    return factory.create();
  }
}

function failedWatch(error: string): CertificateWatch {
  const failure = { ok: false, error } as const;
  return { current: { roots: failure, identity: failure }, release() {} };
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
