import { errorMessage } from '../util/error-message';
import { createHandle, type Handle } from '../util/handle';
import { readObject } from '../util/json-fields';
import { RefCountedMap } from '../util/ref-counted-map';
import { err, ok, type Result } from '../util/result';
import type { Violations } from '../util/violations';
import type {
  CertificateProviderContext,
  CertificateProviderType,
  Certificates,
  Identity,
  TrustedRoots,
} from './certificate-provider';
import { LastGood } from './last-good';
import { describeExcess, MAX_AUTHORITIES } from './certificate-limits';
import { countPemBlocks, parseIdentity, parsePemCertificates } from './pem';
import { isTrustDomain } from './spiffe-id';
import { rootsOfBundles } from './trust-bundle-map';

/**
 * A kind of certificate provider that an application brings along. See `registerCertificateProvider`.
 *
 * @typeParam Config - What the `config` of an instance is parsed into.
 */
export interface CertificateProviderDefinition<Config> {
  /** The name in `certificate_providers[].plugin_name`, such as `acme_vault`. */
  readonly name: string;
  /**
   * Parses and validates the `config` of an instance, an empty object if it is absent. Unknown members should be ignored. The
   * bootstrap is invalid with the message of what this throws, or with all the messages of an `AggregateError`. May be called
   * more than once; must have no effect.
   */
  parseConfig(config: Readonly<Record<string, unknown>>): Config;
  /**
   * Creates a provider when a connection first needs its certificates. Instances with the same plugin and config share one
   * provider. What this throws is the reason why handshakes fail, until no connection needs the provider any more; after
   * that, it is called again.
   */
  create(config: Config): CustomCertificateProvider;
}

/** Supplies certificates, and replaces them while they are in use (gRFC A29). */
export interface CustomCertificateProvider {
  /**
   * Starts to supply the certificates of a name: the `certificate_name` of the cluster, often empty, whose meaning is that of
   * the provider. Called once for each name while connections need it. Handshakes wait up to 20 seconds for the first
   * certificates.
   *
   * @returns a function that ends it.
   */
  watch(certificateName: string, watcher: CertificateWatcher): () => void;
  /** Releases everything, when no connection needs the provider any more. */
  close?(): void;
}

/**
 * Receives certificates. Each call replaces those of the last one for the handshakes that begin from then on; connections
 * stay. Certificates that are not valid, and an `Error`, which is the reason why none are available, replace nothing: the
 * reason is logged, and handshakes fail with it if no certificates were supplied before. Calls after the end of the watch have
 * no effect.
 */
export interface CertificateWatcher {
  /** Called with the trusted authorities. Need not be called if no cluster takes its authorities from this provider. */
  onRoots(roots: CustomRoots | Error): void;
  /** Called with the client's own certificate. Need not be called if no cluster takes its identity from this provider. */
  onIdentity(identity: CustomIdentity | Error): void;
}

/** A certificate with its private key, in PEM. The key is never logged. */
export interface CustomIdentity {
  /** The leaf first, then those that signed it. */
  readonly certificateChain: string;
  /** Not encrypted. */
  readonly privateKey: string;
}

/** Trusted authorities: certificates for every peer, or by the trust domain whose SPIFFE IDs they sign (gRFC A87). */
export type CustomRoots =
  | {
      /** One or more certificates in PEM. */
      readonly certificates: string;
    }
  | {
      /** One or more certificates in PEM by the name of a trust domain, such as `example.org`. */
      readonly trustBundles: ReadonlyMap<string, string>;
    };

/** Converts a definition of an application into the form of the registry. */
export function defineCertificateProvider<Config>(
  definition: CertificateProviderDefinition<Config>,
): CertificateProviderType<{ readonly value: Config }> {
  return {
    name: definition.name,
    parseConfig(json, violations) {
      const fields = readObject(json ?? {}, violations);
      return fields && tryParse(definition, Object.fromEntries(fields), violations);
    },
    create({ value }, context) {
      const provider = tryCreate(definition, value);
      const named = new RefCountedMap<string, NamedCertificates>(
        (name) => new NamedCertificates(provider, name, context),
        (certificates) => certificates.end(),
      );
      return {
        watch(name, onChanged) {
          const held = named.acquire(name);
          const watch = held.value.watch(onChanged);
          return {
            get current() {
              return held.value.current;
            },
            release() {
              watch.release();
              held.release();
            },
          };
        },
        close: () => provider.ok && provider.value.close?.(),
      };
    },
  };
}

function tryParse<Config>(
  definition: CertificateProviderDefinition<Config>,
  json: Readonly<Record<string, unknown>>,
  violations: Violations,
): { readonly value: Config } | undefined {
  try {
    return { value: definition.parseConfig(json) };
  } catch (error) {
    const isList = error instanceof AggregateError && error.errors.length > 0;
    for (const each of isList ? error.errors : [error]) {
      violations.add(errorMessage(each) || 'is invalid');
    }
    return undefined;
  }
}

function tryCreate<Config>(
  definition: CertificateProviderDefinition<Config>,
  config: Config,
): Result<CustomCertificateProvider, string> {
  try {
    return ok(definition.create(config));
  } catch (error) {
    return err(errorMessage(error) || 'the provider cannot be created');
  }
}

/** The certificates of one name, as the provider of an application supplies them. */
class NamedCertificates implements CertificateWatcher {
  private readonly roots: LastGood<TrustedRoots>;
  private readonly identity: LastGood<Identity>;
  private readonly watchers = new Set<() => void>();
  private cancel: (() => void) | undefined;
  private isEnded = false;

  constructor(
    provider: Result<CustomCertificateProvider, string>,
    name: string,
    { instanceName, ...ambient }: CertificateProviderContext,
  ) {
    const certificate = name === '' ? '' : `certificate "${name}": `;
    const subject = `certificate provider instance "${instanceName}": ${certificate}`;
    const options = { ...ambient, subject, logsFirstFailure: true };
    this.roots = new LastGood({ ...options, noun: 'roots' });
    this.identity = new LastGood({ ...options, noun: 'identity' });
    if (provider.ok) this.start(provider.value, name);
    else this.fail(provider.error);
  }

  get current(): Certificates {
    return { roots: this.roots.result, identity: this.identity.result };
  }

  watch(onChanged: () => void): Handle {
    const watcher = () => onChanged();
    this.watchers.add(watcher);
    return createHandle(() => this.watchers.delete(watcher));
  }

  end(): void {
    this.isEnded = true;
    this.cancel?.();
  }

  onRoots(roots: CustomRoots | Error): void {
    if (this.isEnded) return;
    this.notifyIf(
      roots instanceof Error
        ? this.roots.fail(`no roots: ${roots.message}`)
        : this.roots.update(bytesOf(roots), () => parseRoots(roots)),
    );
  }

  onIdentity(identity: CustomIdentity | Error): void {
    if (this.isEnded) return;
    if (identity instanceof Error) {
      this.notifyIf(this.identity.fail(`no identity: ${identity.message}`));
      return;
    }
    const { certificateChain, privateKey } = identity;
    const isChanged = this.identity.update(
      [Buffer.from(certificateChain), Buffer.from(privateKey)],
      () => {
        const parsed = parseIdentity(certificateChain, privateKey);
        return parsed.ok ? parsed : err(`the identity cannot be used: ${parsed.error}`);
      },
    );
    this.notifyIf(isChanged);
  }

  private start(provider: CustomCertificateProvider, name: string): void {
    try {
      this.cancel = provider.watch(name, this);
    } catch (error) {
      this.fail(errorMessage(error));
    }
  }

  private fail(reason: string): void {
    this.roots.fail(reason);
    this.identity.fail(reason);
  }

  private notifyIf(isChanged: boolean): void {
    if (isChanged) for (const notify of [...this.watchers]) notify();
  }
}

function bytesOf(roots: CustomRoots): readonly Buffer[] {
  const parts = 'certificates' in roots ? [roots.certificates] : [...roots.trustBundles].flat();
  return parts.map((part) => Buffer.from(part));
}

function parseRoots(roots: CustomRoots): Result<TrustedRoots, string> {
  if ('certificates' in roots) {
    const certificates = parsePemCertificates(roots.certificates);
    if (certificates.ok) return ok({ certificates: certificates.value });
    return err(`the roots cannot be used: ${certificates.error}`);
  }
  let count = 0;
  for (const text of roots.trustBundles.values()) count += countPemBlocks(text);
  if (count > MAX_AUTHORITIES) {
    const excess = describeExcess(count, 'PEM blocks', MAX_AUTHORITIES);
    return err(`the roots cannot be used: ${excess}`);
  }
  const bundles = new Map<string, readonly string[]>();
  for (const [name, text] of roots.trustBundles) {
    const certificates = isTrustDomain(name)
      ? parsePemCertificates(text)
      : err('not a name of a trust domain');
    if (!certificates.ok) {
      return err(`the roots cannot be used: ${JSON.stringify(name)}: ${certificates.error}`);
    }
    bundles.set(name, certificates.value);
  }
  return ok(rootsOfBundles(bundles));
}
