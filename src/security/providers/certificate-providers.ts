import type { Bootstrap, CertificateProviderConfig, NodeConfig } from '../../bootstrap/bootstrap';
import type { CertificateProviderSupport } from '../../bootstrap/bootstrap-parser';
import type { Clock } from '../../util/clock';
import { late } from '../../util/late';
import type { Logger } from '../../util/logger';
import { RefCountedMap } from '../../util/handle';
import { Violations } from '../../util/violations';
import type { ConnectionOptions } from '../../xds-client/transport';
import {
  createWatch,
  failedWatch,
  subjectOf,
  type CertificateProvider,
  type CertificateProviderType,
  type Certificates,
  type CertificateSource,
  type CertificateWatch,
} from './certificate-provider';
import type * as Definitions from './define-certificate-provider';

const loadDefinitions = late<typeof Definitions>(() => require('./define-certificate-provider'));

/** The plugins for certificates, by name (gRFC A29). */
export class CertificateProviderRegistry implements CertificateProviderSupport {
  private readonly types = new Map<string, CertificateProviderType>();

  /** Registers a plugin. It replaces one of the same name for the watches that start from now on. */
  register<Config>(type: CertificateProviderType<Config>): void {
    const erased: CertificateProviderType = {
      name: type.name,
      isPerNode: type.isPerNode === true,
      parseConfig: (config, violations) => type.parseConfig(config, violations),
      // eslint-disable-next-line no-restricted-syntax -- the config is the result of the same type's parseConfig
      create: (config, context) => type.create(config as Config, context),
    };
    this.types.set(type.name, erased);
  }

  /** Registers a plugin, unless there is one of its name. */
  registerDefault<Config>(type: CertificateProviderType<Config>): void {
    if (!this.types.has(type.name)) this.register(type);
  }

  /** Whether a plugin is registered. */
  has(pluginName: string): boolean {
    return this.types.has(pluginName);
  }

  /** Returns a plugin, if it is registered. */
  get(pluginName: string): CertificateProviderType | undefined {
    return this.types.get(pluginName);
  }

  /** Adds what is wrong with the config of an instance. */
  check({ pluginName, config }: CertificateProviderConfig, violations: Violations): void {
    this.types.get(pluginName)?.parseConfig(config, violations);
  }
}

/**
 * The plugins of this process: those of the application, and those of this package, which the composition root adds. One
 * registry, since an application may register its own before or after it calls `register`.
 */
export const processCertificateProviders = new CertificateProviderRegistry();

/** Implements `registerCertificateProvider` of the package. */
export function registerCertificateProvider<Config>(
  definition: Definitions.CertificateProviderDefinition<Config>,
): void {
  processCertificateProviders.register(loadDefinitions().defineCertificateProvider(definition));
}

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

/**
 * The certificate providers of a process. Instances with the same plugin and config share one provider, whatever
 * bootstrap they are of. A provider exists while its certificates are watched.
 */
export class CertificateProviders {
  private readonly factories = new Map<string, () => CertificateProvider>();
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
   * @param connectionOptions Those of the connections to management servers.
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
