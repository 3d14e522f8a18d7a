import type { CertificateInstances, CertificateProviderConfig } from '../../bootstrap/bootstrap';
import type { CertificateProviderSupport } from '../../bootstrap/bootstrap-parser';
import { lazy } from '../../util/lazy';
import type { Violations } from '../../util/violations';
import type { ConnectionOptions } from '../../xds-client/transport';
import type { CertificateProviderType, CertificateSource } from './certificate-provider';
import type * as Definitions from './define-certificate-provider';
import type * as Used from './used-providers';
import type { CertificatesInUse, UsedProviders, UsedProvidersOptions } from './used-providers';

// Late: a process may have channels long before a cluster configures TLS, if any ever does.
const loadUsed = lazy<typeof Used>(() => require('./used-providers'));
const loadDefinitions = lazy<typeof Definitions>(() => require('./define-certificate-provider'));

/** The plugins for certificates, by name (gRFC A29). */
export class CertificateProviderRegistry implements CertificateProviderSupport {
  private readonly types = new Map<string, CertificateProviderType>();

  /** Registers a plugin. It replaces one of the same name for the watches that start from now on. */
  register<Config>(type: CertificateProviderType<Config>): void {
    this.types.set(type.name, type);
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

/** The certificate providers of a process. A provider exists while its certificates are watched. */
export class CertificateProviders {
  /** `undefined` before the first certificates are watched. */
  private used: UsedProviders | undefined;

  constructor(private readonly options: UsedProvidersOptions) {}

  /**
   * Returns the certificates of a bootstrap.
   * @param connectionOptions Those of the connections to management servers.
   */
  of(bootstrap: CertificateInstances, connectionOptions?: ConnectionOptions): CertificateSource {
    const instances = { ...bootstrap, connectionOptions };
    return {
      nodeId: bootstrap.node.id,
      watch: (instance, onChanged) => {
        this.used ??= new (loadUsed().UsedProviders)(this.options);
        return this.used.watch(instances, instance, onChanged);
      },
    };
  }

  /** Lists the certificates in use, each once. */
  inUse(): readonly CertificatesInUse[] {
    return this.used?.inUse() ?? [];
  }
}
