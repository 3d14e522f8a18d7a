import { isIP } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { ChannelOptions } from '../../grpc-js';
import type { CertificateInstance, UpstreamTls } from '../../resources/tls/tls';
import { Brand, copyOf, describeOtherCopy, ownCopy } from '../../util/package-copy';
import { err, ok, type Result } from '../../util/result';
import type { CurrentCertificates, TlsConfiguration } from '../contexts/loaded-certificates';
import {
  createWatch,
  failedWatch,
  type Certificates,
  type CertificateSource,
  type Watch,
} from '../providers/certificate-provider';
import { quoteName } from '../../util/text';

/** The subchannel argument that has the {@link TlsPolicy} of the cluster. It is part of the identity of a subchannel. */
export const TLS_POLICY_ARG = 'grpc_xds.tls_policy';

/**
 * The value of {@link TLS_POLICY_ARG} where the cluster has no policy: without any value, something around the credentials
 * has not handed the arguments on.
 */
export const NO_TLS_POLICY = 'none';

/** The subchannel argument that has the hostname of the endpoint, where the policy sends it as SNI (gRFC A101). */
export const ENDPOINT_HOSTNAME_ARG = 'grpc_xds.endpoint_hostname';

/**
 * How the connections to one cluster are secured (gRFC A29): immutable, and the same object until the cluster
 * configures something else. Subchannels are pooled by it: a connection made under one policy serves no call of another.
 */
export class TlsPolicy implements TlsConfiguration {
  readonly [Brand.TLS_POLICY] = ownCopy;
  private hasConnector = false;

  /** @param cluster The name under which the cluster is watched; empty for a management server. */
  constructor(
    readonly cluster: string,
    readonly tls: UpstreamTls,
    readonly certificates: CertificateSource,
  ) {}

  /**
   * Returns the policy of a subchannel; `undefined` if the cluster has none, or why there is one that cannot be read:
   * such a subchannel must not connect.
   */
  static of(options: ChannelOptions): Result<TlsPolicy, string> | undefined {
    const policy: unknown = options[TLS_POLICY_ARG];
    if (policy === undefined || policy === NO_TLS_POLICY) return undefined;
    if (isOwnPolicy(policy)) return ok(policy);
    const copy = copyOf(policy, Brand.TLS_POLICY);
    const reader = `grpc-xds ${ownCopy.version} in ${ownCopy.path}`;
    return err(
      copy === undefined
        ? `the cluster configures TLS in a form that the credentials of ${reader} cannot read`
        : `the cluster configures TLS, which the channel's credentials cannot read: they are of ${describeOtherCopy(ownCopy, copy)}`,
    );
  }

  /** Begins messages. */
  get subject(): string {
    return this.cluster === '' ? 'management server' : `cluster ${quoteName(this.cluster)}`;
  }

  /** Whether connections were prepared by the policy: what the credentials of a channel do is known only then. */
  get isUsed(): boolean {
    return this.hasConnector;
  }

  /** Records that connections are prepared by the policy. */
  markUsed(): void {
    this.hasConnector = true;
  }

  /** Returns this policy, or another one if the cluster configures another. */
  next(cluster: string, tls: UpstreamTls, certificates: CertificateSource): TlsPolicy {
    const isSame =
      cluster === this.cluster &&
      certificates === this.certificates &&
      (tls === this.tls || isDeepStrictEqual(tls, this.tls));
    return isSame ? this : new TlsPolicy(cluster, tls, certificates);
  }

  /** Watches the certificates of the policy. */
  watch(onChanged: () => void): Watch<CurrentCertificates> {
    const { rootCertificates, identity } = this.tls;
    const watchOf = (instance: CertificateInstance | undefined) =>
      instance &&
      this.certificates.watch(instance.instanceName, instance.certificateName, onChanged);
    const roots = watchOf(rootCertificates.kind === 'instance' ? rootCertificates : undefined);
    const own = watchOf(identity);
    return createWatch(
      () => combine(roots?.current, own?.current),
      () => {
        roots?.release();
        own?.release();
      },
    );
  }

  /** The host library writes subchannel arguments into its trace: without matchers and certificates. */
  toJSON(): object {
    return { cluster: this.cluster };
  }
}

/**
 * Returns the certificates of a policy.
 * @param roots Those of the instance for roots; `undefined` where the roots of the system are used.
 * @param own Those of the instance for the identity; `undefined` where the client presents no certificate.
 */
function combine(
  roots: Certificates | undefined,
  own: Certificates | undefined,
): CurrentCertificates {
  const trusted = roots === undefined ? ok('system' as const) : roots.roots;
  const identity = own === undefined ? ok(undefined) : own.identity;
  if (trusted === undefined || identity === undefined) return undefined;
  if (!trusted.ok) return trusted;
  return identity.ok ? ok({ roots: trusted.value, identity: identity.value }) : identity;
}

function isOwnPolicy(policy: unknown): policy is TlsPolicy {
  return copyOf(policy, Brand.TLS_POLICY) === ownCopy;
}

/**
 * Returns the name of a server (gRFC A101), such as `a.example` or `10.0.0.1`; empty for none.
 * @param hostname That of the endpoint, such as `a.example` or, of a DNS name, `a.example:443`.
 */
export function serverNameOf({ sni, autoHostSni }: UpstreamTls, hostname: string): string {
  const host = autoHostSni ? hostOf(hostname) : '';
  return host === '' ? hostOf(sni) : host;
}

/**
 * Whether a name in the certificate of a server is compared with anything.
 * @param hostname See {@link serverNameOf}.
 */
export function comparesNames(tls: UpstreamTls, hostname: string): boolean {
  if (tls.sanMatchers.length > 0) return true;
  return tls.autoSniSanValidation && serverNameOf(tls, hostname) !== '';
}

/** Returns what is sent of a server name: no address (RFC 6066), which Node.js 26 refuses to send. */
export function sniOf(serverName: string): string {
  return isIP(serverName) === 0 ? serverName : '';
}

/** Removes the port, and what is around the host. */
function hostOf(hostname: string): string {
  if (isIP(hostname) !== 0) return hostname;
  const host = hostname.replace(/:\d+$/, '').replace(/\.$/, '');
  return host.replace(/^\[(.*)\]$/, '$1');
}

/** The source of a policy without certificate providers: handshakes that need a certificate fail. */
export const noCertificates: CertificateSource = {
  nodeId: '',
  watch: () => failedWatch('there are no certificate providers'),
};
