import { abandon, atOnce, contained, isPromiseLike, parseContained } from '../../util/contained';
import { errorMessage, errorStack } from '../../util/errors';
import { lazy } from '../../util/lazy';
import { readObject } from '../../util/json-fields';
import { MAX_AUTHORITIES, MAX_BUNDLE_BYTES } from '../../util/limits';
import { err, ok, type Result } from '../../util/result';
import {
  subjectOf,
  type CertificateProviderContext,
  type CertificateProviderType,
  type Revocation,
  type TrustedRoots,
} from './certificate-provider';
import type * as Lists from '../revocation/provided-lists';
import type { CrlProvider } from '../revocation/provided-lists';
import { describeExcess } from './parse-certificate';
import { countPemBlocks, parseIdentity, parsePemCertificates, parsePemRoots } from './pem';
import { isTrustDomain } from '../peer/spiffe-id';
import { rootsOfBundles } from './trust-bundle-map';
import { WatchedCertificates } from './watched-certificates';

/** Loaded for the first roots with revocation lists. */
const loadLists = lazy<typeof Lists>(() => require('../revocation/provided-lists'));

/**
 * A kind of certificate provider of an application. See `registerCertificateProvider`.
 *
 * @typeParam Config - The type of a parsed `config`.
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
   * provider. If it throws, handshakes fail with that reason until no connection needs the provider any more; then it is called
   * again.
   */
  create(config: Config): CustomCertificateProvider;
}

/** Supplies certificates, and replaces them while they are in use (gRFC A29). */
export interface CustomCertificateProvider {
  /**
   * Starts to supply the certificates of a name: the `certificate_name` of the cluster, often empty, whose meaning the provider
   * defines. Called once for each name while connections need it. Handshakes wait up to 20 seconds for the first certificates.
   *
   * @returns a function that ends it.
   */
  watch(certificateName: string, watcher: CertificateWatcher): () => void;
  /** Releases everything, when no connection needs the provider any more. */
  close?(): void;
}

/**
 * Receives certificates. Each call replaces the previous certificates for handshakes that begin afterwards; connections stay.
 * Certificates that are not valid, and an `Error`, which is the reason why none are available, replace nothing: the reason is
 * logged, and handshakes fail with it if no certificates were supplied before. Calls after the end of the watch have no effect.
 */
export interface CertificateWatcher {
  /** Called with the trusted authorities. Need not be called if no cluster takes its authorities from this provider. */
  onRoots(roots: CustomRoots | Error): void;
  /** Called with the client's own certificate. Need not be called if no cluster takes its identity from this provider. */
  onIdentity(identity: CustomIdentity | Error): void;
}

/** A certificate with its private key, in PEM. The key is never logged. */
export interface CustomIdentity {
  /** The leaf first, then its issuers. */
  readonly certificateChain: string;
  /** Not encrypted. */
  readonly privateKey: string;
}

/** Trusted authorities: certificates for every peer, or by the trust domain whose SPIFFE IDs they sign (gRFC A87). */
export type CustomRoots = CustomRevocation &
  (
    | {
        /** One or more certificates in PEM. */
        readonly certificates: string;
      }
    | {
        /** One or more certificates in PEM by the name of a trust domain, such as `example.org`. */
        readonly trustBundles: ReadonlyMap<string, string>;
      }
  );

/** Which of the certificates are revoked that authorities have signed (gRFC A69). */
export interface CustomRevocation {
  /** Supplies their certificate revocation lists. Default: no certificate is revoked. */
  readonly crlProvider?: CrlProvider | undefined;
  /** Whether a peer is refused if no list says whether its certificate is revoked. Default: no. */
  readonly failRevocationUndetermined?: boolean | undefined;
}

/** Converts a definition of an application into the form of the registry. */
export function defineCertificateProvider<Config>(
  definition: CertificateProviderDefinition<Config>,
): CertificateProviderType<{ readonly value: Config }> {
  return {
    name: definition.name,
    parseConfig(json, violations) {
      const fields = readObject(json ?? {}, violations);
      if (fields === undefined) return undefined;
      const config = Object.fromEntries(fields);
      return parseContained(() => definition.parseConfig(config), violations, 'the plugin');
    },
    create({ value }, context) {
      const provider = tryCreate(definition, value);
      const onError = (error: unknown) =>
        context.logger.error(() => `${subjectOf(context)}unexpected error: ${errorStack(error)}`);
      const named = new Map<string, NamedCertificates>();
      return {
        watch(name, onChanged) {
          const onUnused = () => named.delete(name);
          const certificates =
            named.get(name) ??
            new NamedCertificates({ provider, name, context, onError, onUnused });
          named.set(name, certificates);
          return certificates.watch(onChanged);
        },
        close: contained(() => {
          if (provider.ok) return provider.value.close?.();
        }, onError),
      };
    },
  };
}

function tryCreate<Config>(
  definition: CertificateProviderDefinition<Config>,
  config: Config,
): Result<CustomCertificateProvider, string> {
  try {
    return ok(atOnce(definition.create(config), 'create must not return a promise'));
  } catch (error) {
    return err(errorMessage(error) || 'the provider cannot be created');
  }
}

interface NamedCertificatesOptions {
  readonly provider: Result<CustomCertificateProvider, string>;
  readonly name: string;
  readonly context: CertificateProviderContext;
  /** Called with an exception of a listener, or of the end of the watch. Must not throw. */
  readonly onError: (error: unknown) => void;
  /** Called when they are not watched any more. */
  readonly onUnused: () => void;
}

/** The certificates of one name, as the provider of an application supplies them. Watched until nothing needs them, and not again. */
class NamedCertificates extends WatchedCertificates implements CertificateWatcher {
  private readonly notifyContained: () => void;
  private readonly subject: string;
  /** Of the last roots. */
  private lists: Revocation | undefined;
  private readonly revocation: Revocation = {
    check: (leaf, anchors) => this.lists?.check(leaf, anchors),
  };
  private cancel: (() => void) | undefined;
  private isEnded = false;

  constructor(private readonly options: NamedCertificatesOptions) {
    const { name, context, onError } = options;
    const { clock, logger } = context;
    const certificate = name === '' ? '' : `certificate "${name}": `;
    const subject = subjectOf(context) + certificate;
    const nouns = { roots: 'roots', identity: 'identity' };
    super({ clock, logger, subject, logsFirstFailure: true }, nouns);
    this.subject = subject;
    this.notifyContained = contained(() => this.notify(), onError);
  }

  onRoots(roots: CustomRoots | Error): void {
    this.accept(this.roots, () => {
      if (roots instanceof Error) return this.roots.fail(`no roots: ${roots.message}`);
      const texts = textsOfRoots(roots);
      const bytes = texts.flatMap(([name, pem]) =>
        name === undefined ? [Buffer.from(pem)] : [Buffer.from(name), Buffer.from(pem)],
      );
      bytes.push(Buffer.from(roots.crlProvider === undefined ? 'no lists' : 'lists'));
      const revocation = roots.crlProvider && this.revocation;
      const isChanged = this.roots.update(bytes, () => {
        const parsed = explained('the roots', parseRoots(texts));
        return parsed.ok && revocation ? ok({ ...parsed.value, revocation }) : parsed;
      });
      if (!this.roots.isFailing) this.useLists(roots);
      return isChanged;
    });
  }

  private useLists({ crlProvider, failRevocationUndetermined = false }: CustomRevocation): void {
    const { logger } = this.options.context;
    const { subject } = this;
    const options = { logger, subject, failUndetermined: failRevocationUndetermined };
    this.lists = crlProvider && new (loadLists().ProvidedLists)(crlProvider, options);
  }

  onIdentity(identity: CustomIdentity | Error): void {
    this.accept(this.identity, () => {
      if (identity instanceof Error) return this.identity.fail(`no identity: ${identity.message}`);
      const chain = textOf(identity.certificateChain);
      const key = textOf(identity.privateKey);
      const bytes = [Buffer.from(chain), Buffer.from(key)];
      const parse = () => explained('the identity', parseIdentity(chain, key));
      return this.identity.update(bytes, parse);
    });
  }

  /**
   * Takes what the provider supplies, which may be anything: it must not get an exception for it.
   * @param take Returns whether the part is another one.
   */
  private accept(part: { fail(reason: string): boolean }, take: () => boolean): void {
    if (this.isEnded) return;
    let isChanged: boolean;
    try {
      isChanged = take();
    } catch (error) {
      isChanged = part.fail(`what the provider supplies cannot be read: ${errorMessage(error)}`);
    }
    if (isChanged) this.notifyContained();
  }

  protected start(): void {
    const { provider, name, onError } = this.options;
    if (!provider.ok) {
      this.fail(provider.error);
      return;
    }
    try {
      const cancel = provider.value.watch(name, this);
      // Plain JavaScript may return anything, and nothing that is needed: the watch then ends with the provider.
      if (typeof cancel === 'function') this.cancel = contained(cancel, onError);
      if (isPromiseLike<unknown>(cancel))
        abandon(cancel, (reason) => this.fail(errorMessage(reason)));
    } catch (error) {
      this.fail(errorMessage(error));
    }
  }

  protected stop(): void {
    this.isEnded = true;
    this.options.onUnused();
    this.cancel?.();
  }

  private fail(reason: string): void {
    for (const part of [this.roots, this.identity]) this.accept(part, () => part.fail(reason));
  }
}

/** The certificates of a trust domain in PEM; `undefined` in place of the domain for those of every peer. */
type TextsOfRoots = readonly (readonly [trustDomain: string | undefined, pem: string])[];

/** Copies roots: the map of an application may return something else each time. */
function textsOfRoots(roots: CustomRoots): TextsOfRoots {
  return 'certificates' in roots
    ? [[undefined, textOf(roots.certificates)]]
    : Array.from(roots.trustBundles, ([name, text]) => [name, textOf(text)] as const);
}

/** @throws Error if this is no text. Plain JavaScript may supply anything. */
function textOf(pem: unknown): string {
  if (typeof pem === 'string') return pem;
  throw new Error('certificates and keys must be texts in PEM');
}

function explained<T>(subject: string, parsed: Result<T, string>): Result<T, string> {
  return parsed.ok ? parsed : err(`${subject} cannot be used: ${parsed.error}`);
}

function parseRoots(texts: TextsOfRoots): Result<TrustedRoots, string> {
  const [only] = texts;
  if (only !== undefined && only[0] === undefined) return parsePemRoots(only[1]);
  const count = texts.reduce((sum, [, text]) => sum + countPemBlocks(text), 0);
  const length = texts.reduce((sum, [, text]) => sum + text.length, 0);
  if (count > MAX_AUTHORITIES) return err(describeExcess(count, 'PEM blocks', MAX_AUTHORITIES));
  if (length > MAX_BUNDLE_BYTES) return err(describeExcess(length, 'characters', MAX_BUNDLE_BYTES));
  const bundles = new Map<string, readonly string[]>();
  for (const [name = '', text] of texts) {
    const certificates = isTrustDomain(name)
      ? parsePemCertificates(text)
      : err('not a name of a trust domain');
    if (!certificates.ok) return err(`${JSON.stringify(name)}: ${certificates.error}`);
    bundles.set(name, certificates.value);
  }
  return ok(rootsOfBundles(bundles));
}
