import type { NodeConfig } from '../../bootstrap/bootstrap';
import type { CertificateInstance } from '../../resources/tls/tls';
import type { ChannelStats } from '../../observe/stats/stats-plugin';
import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import type { Result } from '../../util/result';
import type { Violations } from '../../util/violations';
import type { ConnectionOptions } from '../../xds-client/transport';
import type { PresentedCertificate } from '../peer/certificate-path';

/** Says which certificates are revoked (gRFC A69). What it says changes while it is in use. */
export interface Revocation {
  /**
   * Checks a certificate that was verified, and the authorities between it and the one that is trusted.
   * @param anchors The trusted authorities, one PEM block each.
   * @returns why it must not be used; `undefined` if it may.
   */
  check(leaf: PresentedCertificate, anchors: readonly string[]): string | undefined;
}

/** The certificate authorities whose signatures are trusted. */
export interface TrustedRoots {
  /** One PEM block each. */
  readonly certificates: readonly string[];
  /**
   * The same certificates by trust domain, from a SPIFFE trust bundle map: an authority vouches only for identities of its
   * own domain (gRFC A87). Default: every authority vouches for every identity.
   */
  readonly bundles?: ReadonlyMap<string, readonly string[]>;
  /** Which certificates are revoked that they have signed. Default: none is. */
  readonly revocation?: Revocation | undefined;
}

/** A certificate with its private key, in PEM. */
export interface Identity {
  /** The leaf first. */
  readonly certificateChain: string;
  readonly privateKey: string;
}

/** The certificates of one name, as last read. Each part is the same object until it changes. */
export interface Certificates {
  /** The authorities, or why there are none; `undefined` while they are being read for the first time. */
  readonly roots: Result<TrustedRoots, string> | undefined;
  /** The certificate, or why there is none; `undefined` while it is being read for the first time. */
  readonly identity: Result<Identity, string> | undefined;
}

/**
 * Supplies certificates (gRFC A29), and replaces them while they are in use. What cannot be read or used replaces
 * nothing: the last good certificates stay.
 */
export interface CertificateProvider {
  /**
   * Watches the certificates of a name, whose meaning depends on the provider.
   * @param onChanged Called after each change, never before `watch` has returned, until the watch is released.
   */
  watch(certificateName: string, onChanged: () => void): CertificateWatch;
  /** Releases what is left. Called once, when nothing is watched any more. */
  close?(): void;
}

/** Certificates that are watched until the watch is released. */
export interface CertificateWatch extends Handle {
  /** The certificates as of now. */
  readonly current: Certificates;
}

/** The certificates of the instances of one bootstrap. */
export interface CertificateSource {
  /** `node.id` of the bootstrap. */
  readonly nodeId: string;
  /** What observes the channel; `undefined` if nothing does. */
  readonly stats?: ChannelStats | undefined;
  /** Watches certificates, until the watch is released. */
  watch(instance: CertificateInstance, onChanged: () => void): CertificateWatch;
}

/** What a provider is created with. */
export interface CertificateProviderContext {
  /** The instance in the bootstrap that is the first to use it; names the provider in messages. */
  readonly instanceName: string;
  /** The node of that bootstrap. */
  readonly node: NodeConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The options of the connections to management servers of the first channel that uses it (gRFC A110). Default: there are none. */
  readonly connectionOptions?: ConnectionOptions | undefined;
}

/** Returns the begin of the messages of a provider. */
export function subjectOf({ instanceName }: { readonly instanceName: string }): string {
  return `certificate provider instance "${instanceName}": `;
}

/** A kind of certificate provider: a plugin of `certificate_providers` in the bootstrap. */
export interface CertificateProviderType<Config = unknown> {
  /** `plugin_name`, such as `file_watcher`. */
  readonly name: string;
  /** Whether what it supplies depends on the node: those of different nodes are not shared. Default: no. */
  readonly isPerNode?: boolean;
  /** Validates the `config` of an instance. @returns `undefined` after adding a violation. */
  parseConfig(config: unknown, violations: Violations): Config | undefined;
  /** Creates a provider, which starts to read at once. Instances with the same plugin and config share one; see `isPerNode`. */
  create(config: Config, context: CertificateProviderContext): CertificateProvider;
}
