import type { CertificateProviderConfig } from '../../bootstrap/bootstrap';
import type { CertificateProviderSupport } from '../../bootstrap/bootstrap-parser';
import type { Violations } from '../../util/violations';
import type { CertificateProviderType } from './certificate-provider';
import type * as Definitions from './define-certificate-provider';
import { late } from '../../util/late';

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

/** See the function of that name of the package. */
export function registerCertificateProvider<Config>(
  definition: Definitions.CertificateProviderDefinition<Config>,
): void {
  if (definition.name === '') throw new Error('A certificate provider needs a name');
  processCertificateProviders.register(loadDefinitions().defineCertificateProvider(definition));
}
