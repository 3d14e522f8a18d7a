import { isIP } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { ChannelOptions } from '../../grpc-js';
import type { UpstreamTls } from '../../resources/tls/tls';
import { Brand, ownCopy } from '../../util/package-copy';
import { err } from '../../util/result';
import type { CertificateSource } from '../providers/certificate-provider';
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

/** What xDS credentials decided for the subchannels with these options, whatever credentials are around them. */
export const decisions = new WeakMap<ChannelOptions, 'policy' | 'insecure'>();

/**
 * How the connections to one cluster are secured (gRFC A29): immutable, and the same object until the cluster
 * configures something else. Subchannels are pooled by it: a connection made under one policy serves no call of another.
 */
export class TlsPolicy {
  readonly [Brand.TLS_POLICY] = ownCopy;
  /** Whether connections were prepared by the policy: what the credentials of a channel do is known only then. */
  isUsed = false;

  /** @param cluster The name under which the cluster is watched; empty for a management server. */
  constructor(
    readonly cluster: string,
    readonly tls: UpstreamTls,
    readonly certificates: CertificateSource,
  ) {}

  /** Begins messages. */
  get subject(): string {
    return this.cluster === '' ? 'management server' : `cluster ${quoteName(this.cluster)}`;
  }

  /** Returns this policy, or another one if the cluster configures another. */
  next(cluster: string, tls: UpstreamTls, certificates: CertificateSource): TlsPolicy {
    const isSame =
      cluster === this.cluster &&
      certificates === this.certificates &&
      (tls === this.tls || isDeepStrictEqual(tls, this.tls));
    return isSame ? this : new TlsPolicy(cluster, tls, certificates);
  }

  /** grpc-js writes subchannel arguments into its trace: without matchers and certificates. */
  toJSON(): object {
    return { cluster: this.cluster };
  }
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

const noProviders = err('there are no certificate providers');

/** The source of a policy without certificate providers: handshakes that need a certificate fail. */
export const noCertificates: CertificateSource = {
  nodeId: '',
  watch: () => ({ current: { roots: noProviders, identity: noProviders }, release() {} }),
};
