import { isIP } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { ChannelOptions } from '../../grpc-js';
import type { UpstreamTls } from '../../resources/tls/tls';
import type { ChannelStats } from '../../observe/stats/stats-plugin';
import { Brand, copyOf, describeOtherCopy, ownCopy } from '../../util/package-copy';
import { err, ok, type Result } from '../../util/result';
import type { Certificates, CertificateWatch } from '../providers/certificate-provider';

/** The subchannel argument that has the {@link TlsPolicy} of the cluster. It is part of the identity of a subchannel. */
export const TLS_POLICY_ARG = 'grpc_xds.tls_policy';

/**
 * The value of {@link TLS_POLICY_ARG} where the cluster asks for no policy: without any value, something around the credentials
 * has not handed the arguments on.
 */
export const NO_TLS_POLICY = 'none';

/** The subchannel argument that has the hostname of the endpoint, where the policy sends it as SNI (gRFC A101). */
export const ENDPOINT_HOSTNAME_ARG = 'grpc_xds.endpoint_hostname';

/** The certificates of the instances of one bootstrap. */
export interface CertificateSource {
  /** `node.id` of the bootstrap. */
  readonly nodeId: string;
  /** What observes the channel; `undefined` if nothing does. */
  readonly stats?: ChannelStats | undefined;
  /** Watches certificates, until the watch is released. */
  watch(instanceName: string, certificateName: string, onChanged: () => void): CertificateWatch;
}

/** The certificates that a handshake needs, as of now. */
export interface TlsMaterial {
  /** Absent where the roots of the system are used. */
  readonly roots: Certificates['roots'] | 'system';
  /** Absent where the client presents no certificate. */
  readonly identity: Certificates['identity'] | 'none';
}

/** A watch on the certificates of a policy. */
export interface TlsMaterialWatch {
  readonly current: TlsMaterial;
  release(): void;
}

/**
 * How the connections to one cluster are secured (gRFC A29): immutable, and the same object until the cluster asks for
 * something else. Subchannels are pooled by it: a connection made under one policy serves no call of another.
 */
export class TlsPolicy {
  readonly [Brand.TLS_POLICY] = ownCopy;
  private hasConnector = false;

  /** @param cluster The name under which the cluster is watched; empty for a management server. */
  constructor(
    readonly cluster: string,
    readonly tls: UpstreamTls,
    readonly certificates: CertificateSource,
  ) {}

  /**
   * Returns the policy of a subchannel; `undefined` if the cluster asks for none, or why there is one that cannot be read:
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
    return this.cluster === '' ? 'management server' : `cluster "${this.cluster}"`;
  }

  /** Whether connections were prepared by the policy: what the credentials of a channel do is known only then. */
  get isUsed(): boolean {
    return this.hasConnector;
  }

  /** Records that connections are prepared by the policy. */
  markUsed(): void {
    this.hasConnector = true;
  }

  /** Returns this policy, or another one if the cluster asks for another. */
  next(cluster: string, tls: UpstreamTls, certificates: CertificateSource): TlsPolicy {
    const isSame =
      cluster === this.cluster &&
      certificates === this.certificates &&
      (tls === this.tls || isDeepStrictEqual(tls, this.tls));
    return isSame ? this : new TlsPolicy(cluster, tls, certificates);
  }

  /** Watches the certificates of the policy. */
  watch(onChanged: () => void): TlsMaterialWatch {
    const { rootCertificates: roots, identity } = this.tls;
    const rootsWatch =
      roots.kind === 'instance'
        ? this.certificates.watch(roots.instanceName, roots.certificateName, onChanged)
        : undefined;
    const identityWatch =
      identity &&
      this.certificates.watch(identity.instanceName, identity.certificateName, onChanged);
    return {
      get current(): TlsMaterial {
        return {
          roots: rootsWatch === undefined ? 'system' : rootsWatch.current.roots,
          identity: identityWatch === undefined ? 'none' : identityWatch.current.identity,
        };
      },
      release() {
        rootsWatch?.release();
        identityWatch?.release();
      },
    };
  }

  /** The host library writes subchannel arguments into its trace: without matchers and certificates. */
  toJSON(): object {
    return { cluster: this.cluster };
  }
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

const noCertificate = {
  current: {
    roots: err('there are no certificate providers'),
    identity: err('there are no certificate providers'),
  },
  release() {},
};

/** The source of a policy without certificate providers: handshakes that need a certificate fail. */
export const noCertificates: CertificateSource = { nodeId: '', watch: () => noCertificate };
