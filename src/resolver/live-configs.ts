import type { XdsConfig } from '../dependency-manager/xds-config';

/** The configs in use in this process, by target, so that they can be asked about. */
export class LiveConfigs {
  private readonly configs = new Map<
    object,
    { readonly target: string; readonly config: XdsConfig }
  >();

  /** Notes the config that a resolver has come to. */
  set(resolver: object, target: string, config: XdsConfig): void {
    this.configs.set(resolver, { target, config });
  }

  /** Forgets what a resolver has come to. */
  delete(resolver: object): void {
    this.configs.delete(resolver);
  }

  /** The config of a target, the latest if there are several channels; `undefined` if there is none. */
  find(target: string): XdsConfig | undefined {
    let found: XdsConfig | undefined;
    for (const entry of this.configs.values()) if (entry.target === target) found = entry.config;
    return found;
  }
}
