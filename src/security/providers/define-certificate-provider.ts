import { abandon, atOnce, contained, isPromiseLike, parseContained } from '../../util/contained';
import { errorMessage, errorStack } from '../../util/errors';
import { readObject } from '../../util/json-fields';
import { RefCountedMap } from '../../util/handle';
import { err, ok, type Result } from '../../util/result';
import { inSteps, type Steps } from '../../util/steps';
import {
  createWatch,
  subjectOf,
  Watchers,
  type CertificateProviderContext,
  type CertificateProviderType,
  type Certificates,
  type Identity,
  type TrustedRoots,
} from './certificate-provider';
import {
  certificateSize,
  describeExcess,
  MAX_AUTHORITIES,
  MAX_BUNDLE_BYTES,
} from './certificate-limits';
import { countPemBlocks, parseIdentity, parsePemCertificates } from './pem';
import { isTrustDomain } from '../peer/spiffe-id';
import { rootsOfBundles } from './trust-bundle-map';
import { SteppedUpdates } from '../../util/time-slices';
import { certificateSteps, type CertificateSteps } from './certificate-steps';
import { LastGood, type LastGoodOptions } from './last-good';

/**
 * A kind of certificate provider of an application. See `registerCertificateProvider`.
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
      if (fields === undefined) return undefined;
      const config = Object.fromEntries(fields);
      return parseContained(() => definition.parseConfig(config), violations, 'the plugin');
    },
    create({ value }, context) {
      const provider = tryCreate(definition, value);
      const onError = (error: unknown) =>
        context.logger.error(() => `${subjectOf(context)}unexpected error: ${errorStack(error)}`);
      const named = new RefCountedMap<string, NamedCertificates>(
        (name) => new NamedCertificates(provider, name, context, onError),
        (certificates) => certificates.end(),
      );
      return {
        watch(name, onChanged) {
          const certificates = named.acquire(name);
          const watcher = certificates.value.watchers.add(onChanged);
          return createWatch(
            () => certificates.value.current,
            () => {
              watcher.release();
              certificates.release();
            },
          );
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

/** The certificates of one name, as the provider of an application supplies them. */
class NamedCertificates implements CertificateWatcher {
  private readonly roots: SuppliedPart<CustomRoots, TrustedRoots>;
  private readonly identity: SuppliedPart<CustomIdentity, Identity>;
  readonly watchers = new Watchers();
  private cancel: (() => void) | undefined;
  private isEnded = false;

  /** @param onError Called with an exception of the end of the watch. Must not throw. */
  constructor(
    provider: Result<CustomCertificateProvider, string>,
    name: string,
    context: CertificateProviderContext,
    private readonly onError: (error: unknown) => void,
  ) {
    const { clock, logger } = context;
    const certificate = name === '' ? '' : `certificate "${name}": `;
    const subject = subjectOf(context) + certificate;
    const options = { clock, logger, subject, logsFirstFailure: true };
    const onChanged = () => this.watchers.notify();
    const roots = { ...options, noun: 'roots' };
    this.roots = new SuppliedPart(roots, parseRoots, bytesOfRoots, onChanged);
    const identity = { ...options, noun: 'identity' };
    this.identity = new SuppliedPart(identity, parseCustomIdentity, bytesOfIdentity, onChanged);
    if (provider.ok) this.start(provider.value, name);
    else this.fail(provider.error);
  }

  get current(): Certificates {
    return { roots: this.roots.result, identity: this.identity.result };
  }

  end(): void {
    this.isEnded = true;
    this.roots.end();
    this.identity.end();
    this.cancel?.();
  }

  onRoots(roots: CustomRoots | Error): void {
    this.accept(this.roots, () => {
      if (roots instanceof Error) this.roots.fail(`no roots: ${roots.message}`);
      else this.roots.supply(copyOf(roots));
    });
  }

  onIdentity(identity: CustomIdentity | Error): void {
    this.accept(this.identity, () => {
      if (identity instanceof Error) this.identity.fail(`no identity: ${identity.message}`);
      else this.identity.supply(copyOfIdentity(identity));
    });
  }

  /** Takes what the provider supplies, which may be anything: it must not get an exception for it. */
  private accept(part: { fail(reason: string): void }, take: () => void): void {
    if (this.isEnded) return;
    try {
      take();
    } catch (error) {
      part.fail(`what the provider supplies cannot be read: ${errorMessage(error)}`);
    }
  }

  private start(provider: CustomCertificateProvider, name: string): void {
    try {
      const cancel = provider.watch(name, this);
      // Plain JavaScript may return anything, and nothing that is needed: the watch then ends with the provider.
      if (typeof cancel === 'function') this.cancel = contained(cancel, this.onError);
      if (isPromiseLike<unknown>(cancel))
        abandon(cancel, (reason) => this.fail(errorMessage(reason)));
    } catch (error) {
      this.fail(errorMessage(error));
    }
  }

  private fail(reason: string): void {
    for (const part of [this.roots, this.identity]) this.accept(part, () => part.fail(reason));
  }
}

/** The application may change its map while it is read. */
function copyOf(roots: CustomRoots): CustomRoots {
  if ('certificates' in roots) return { certificates: textOf(roots.certificates) };
  const bundles = Array.from(roots.trustBundles, ([name, text]) => [name, textOf(text)] as const);
  return { trustBundles: new Map(bundles) };
}

function copyOfIdentity({ certificateChain, privateKey }: CustomIdentity): CustomIdentity {
  return { certificateChain: textOf(certificateChain), privateKey: textOf(privateKey) };
}

/** @throws Error if this is no text. Plain JavaScript may supply anything. */
function textOf(pem: unknown): string {
  if (typeof pem === 'string') return pem;
  throw new Error('certificates and keys must be texts in PEM');
}

function bytesOfRoots(roots: CustomRoots): readonly Buffer[] {
  const parts = 'certificates' in roots ? [roots.certificates] : [...roots.trustBundles].flat();
  return parts.map((part) => Buffer.from(part));
}

function bytesOfIdentity({ certificateChain, privateKey }: CustomIdentity): readonly Buffer[] {
  return [Buffer.from(certificateChain), Buffer.from(privateKey)];
}

function* parseCustomIdentity({
  certificateChain,
  privateKey,
}: CustomIdentity): Steps<Result<Identity, string>> {
  const parsed = yield* parseIdentity(certificateChain, privateKey);
  return parsed.ok ? parsed : err(`the identity cannot be used: ${parsed.error}`);
}

function* parseRoots(roots: CustomRoots): Steps<Result<TrustedRoots, string>> {
  const parsed =
    'certificates' in roots
      ? yield* parseAuthorities(roots.certificates)
      : yield* parseBundles(roots.trustBundles);
  return parsed.ok ? parsed : err(`the roots cannot be used: ${parsed.error}`);
}

function* parseAuthorities(text: string): Steps<Result<TrustedRoots, string>> {
  const certificates = yield* parsePemCertificates(text);
  return certificates.ok ? ok({ certificates: certificates.value }) : certificates;
}

function* parseBundles(texts: ReadonlyMap<string, string>): Steps<Result<TrustedRoots, string>> {
  let count = 0;
  let length = 0;
  for (const text of texts.values()) {
    count += countPemBlocks(text);
    length += text.length;
  }
  if (count > MAX_AUTHORITIES) return err(describeExcess(count, 'PEM blocks', MAX_AUTHORITIES));
  if (length > MAX_BUNDLE_BYTES) return err(describeExcess(length, 'characters', MAX_BUNDLE_BYTES));
  const bundles = new Map<string, readonly string[]>();
  const problems: string[] = [];
  const parse = function* ([name, text]: readonly [string, string]): Steps<void> {
    if (problems.length > 0) return;
    const certificates = isTrustDomain(name)
      ? yield* parsePemCertificates(text)
      : err('not a name of a trust domain');
    if (certificates.ok) bundles.set(name, certificates.value);
    else problems.push(`${JSON.stringify(name)}: ${certificates.error}`);
  };
  yield* inSteps(texts, parse, certificateSize);
  const [problem] = problems;
  return problem === undefined ? ok(rootsOfBundles(bundles)) : err(problem);
}

/** What a provider has supplied last of one part, and why it supplies no more since. */
interface Supplied<T> {
  readonly part: { readonly value: T } | undefined;
  readonly failure: string | undefined;
}

/** One part of the certificates of a name: parsed in steps, the last good one in use until then. */
class SuppliedPart<Given, T> {
  private readonly lastGood: LastGood<T>;
  private readonly steps: CertificateSteps;
  private readonly updates: SteppedUpdates<Supplied<Given>>;
  private given: Supplied<Given>['part'];
  private applied: Supplied<Given>['part'];

  constructor(
    options: LastGoodOptions,
    private readonly parse: (given: Given) => Steps<Result<T, string>>,
    private readonly bytesOf: (given: Given) => readonly Buffer[],
    private readonly onChanged: () => void,
  ) {
    this.lastGood = new LastGood(options);
    this.steps = certificateSteps(options);
    this.updates = new SteppedUpdates({
      environment: this.steps,
      apply: (supplied) => this.apply(supplied),
    });
  }

  get result(): Result<T, string> | undefined {
    return this.lastGood.result;
  }

  /** Replaces the part, once it is parsed. Of several that are supplied meanwhile, the last one. */
  supply(value: Given): void {
    this.given = { value };
    this.steps.batch.run(() => this.updates.add({ part: this.given, failure: undefined }));
  }

  /** Records why no other part is available. */
  fail(failure: string): void {
    this.steps.batch.run(() => this.updates.add({ part: this.given, failure }));
  }

  /** Drops what is being parsed. */
  end(): void {
    this.updates.cancel();
  }

  private *apply({ part, failure }: Supplied<Given>): Steps<void> {
    let isChanged = false;
    if (part !== undefined && part !== this.applied) {
      this.applied = part;
      const { value } = part;
      isChanged = yield* this.lastGood.update(this.bytesOf(value), () => this.parse(value));
    }
    if (failure !== undefined) isChanged = this.lastGood.fail(failure) || isChanged;
    if (isChanged) this.onChanged();
  }
}
