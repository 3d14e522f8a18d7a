import {
  subchannelAddressToString,
  type ChannelOptions,
  type Subchannel,
  type SubchannelAddress,
} from '../../grpc-js';
import { channelCredentialsOf } from '../../grpc-js/host-internals';
import type { ClusterResource } from '../../resources/cluster/cluster';
import type { EndpointsResource } from '../../resources/endpoints/endpoints';
import { XdsChannelCredentials } from '../../security/xds-channel-credentials';
import {
  ENDPOINT_HOSTNAME_ARG,
  TLS_POLICY_ARG,
  TlsPolicy,
  type CertificateSource,
} from '../../security/tls-policy';
import type { Logger } from '../../util/logger';
import { diagnostics } from '../../xds-client/diagnostics';

/** Reports kept against repetition. Beyond, the oldest is forgotten: its cluster may be reported again. */
const MAX_REPORTS = 1000;

/** A cluster in use. */
export interface UsedCluster {
  /** The name under which it is watched. */
  readonly name: string;
  readonly resource: ClusterResource;
  /** `node.id` of the bootstrap. */
  readonly nodeId: string;
}

/** The clusters of a process that were reported because their TLS is not used. */
export class UnusedTlsReports {
  private readonly reported = new Set<string>();

  /**
   * Reports a cluster to the log and to the subscribers of `grpc-xds:tls-not-used`, once for each problem.
   *
   * @param problem The text in the errors of calls.
   */
  report({ name, nodeId }: UsedCluster, problem: string, logger: Logger): void {
    const key = JSON.stringify([nodeId, name, problem]);
    if (this.reported.has(key)) return;
    this.reported.add(key);
    const [oldest = key] = this.reported;
    if (this.reported.size > MAX_REPORTS) this.reported.delete(oldest);
    logger.error(
      () =>
        `xds: Cluster "${name}" (node "${nodeId}"): ${problem}: the credentials decide how connections are secured, ` +
        'the transport_socket of the cluster has no effect',
    );
    const { tlsNotUsed } = diagnostics;
    if (tlsNotUsed.hasSubscribers) tlsNotUsed.publish({ nodeId, cluster: name });
  }
}

/** Compares the security of one cluster's connections with the TLS in its config (gRFC A29). */
export class TransportSecurity {
  private policy: TlsPolicy | undefined;
  /** The credentials of the channel; `undefined` until there is a subchannel to see them on. */
  private credentials: 'xds' | 'insecure' | 'other' | undefined;
  private hostnames:
    | { readonly endpoints: EndpointsResource; readonly byAddress: ReadonlyMap<string, string> }
    | undefined;
  private secured:
    { readonly options: ChannelOptions; readonly result: ChannelOptions } | undefined;

  constructor(
    private readonly reports: UnusedTlsReports,
    private readonly logger: Logger,
  ) {}

  /** Whether the cluster configures TLS that the credentials of the channel do not provide. */
  get isUnused(): boolean {
    return this.policy !== undefined && this.credentials !== undefined && !this.isEffective;
  }

  /** Whether the policy applies to connections, as far as that is known. */
  private get isEffective(): boolean {
    return this.credentials === undefined || this.credentials === 'xds';
  }

  /** Takes the security configuration of the cluster. @returns whether new calls need new connections. */
  update(cluster: string, { tls }: ClusterResource, certificates?: CertificateSource): boolean {
    const before = this.policy;
    if (tls === undefined || certificates === undefined) this.policy = undefined;
    else
      this.policy =
        before?.next(cluster, tls, certificates) ?? new TlsPolicy(cluster, tls, certificates);
    if (before === this.policy) return false;
    // Other credentials ignore the policy, and need no other connections.
    if (!this.isEffective) return false;
    this.secured = undefined;
    if (this.credentials === 'xds' && this.policy === undefined) this.reportEnd(cluster);
    return true;
  }

  /** Returns the options of subchannels with the policy. The same object while neither changes. */
  withPolicy(options: ChannelOptions): ChannelOptions {
    if (this.secured?.options === options) return this.secured.result;
    if (this.policy === undefined || !this.isEffective) return options;
    this.secured = { options, result: { ...options, [TLS_POLICY_ARG]: this.policy } };
    return this.secured.result;
  }

  /** Returns the arguments of a subchannel: with the hostname of its endpoint, if the policy sends that (gRFC A101). */
  argsOf(
    address: SubchannelAddress,
    args: ChannelOptions,
    endpoints: EndpointsResource | undefined,
  ): ChannelOptions {
    if (this.policy?.tls.autoHostSni !== true || endpoints === undefined) return args;
    if (this.hostnames?.endpoints !== endpoints) {
      this.hostnames = { endpoints, byAddress: hostnamesOf(endpoints) };
    }
    const hostname = this.hostnames.byAddress.get(subchannelAddressToString(address));
    return hostname === undefined ? args : { ...args, [ENDPOINT_HOSTNAME_ARG]: hostname };
  }

  /** Reads the credentials off a subchannel. @returns whether they were not known before. */
  observe(subchannel: Subchannel): boolean {
    if (this.credentials !== undefined) return false;
    const credentials = channelCredentialsOf(subchannel);
    // What cannot be seen may be xDS credentials, which must never fall back to plain text.
    if (credentials === undefined) return false;
    if (credentials instanceof XdsChannelCredentials) this.credentials = 'xds';
    else this.credentials = credentials._isSecure() ? 'other' : 'insecure';
    return true;
  }

  /**
   * Returns the resolution note of a cluster. If its TLS is known not to be used, the note starts with that, and the
   * cluster is reported. The note is part only of errors without a connection, not of drops, deadlines or the statuses
   * of servers.
   */
  completeNote(cluster: UsedCluster, resolutionNote: string): string {
    const problem = this.describe();
    if (problem === undefined) return resolutionNote;
    this.reports.report(cluster, problem, this.logger);
    return resolutionNote === '' ? problem : `${problem}; ${resolutionNote}`;
  }

  /** Describes why the TLS of the cluster is not used; `undefined` if it is, or if there is none. */
  describe(): string | undefined {
    if (!this.isUnused) return undefined;
    const kind = this.credentials === 'insecure' ? 'insecure' : 'not xDS credentials';
    return `the cluster configures TLS, the channel's credentials are ${kind}`;
  }

  private reportEnd(cluster: string): void {
    this.logger.error(
      () =>
        `xds: Cluster "${cluster}": the control plane no longer configures TLS: new connections are made with the fallback ` +
        'credentials of the channel',
    );
  }
}

/** Returns the hostname of each address; of an address that several endpoints have, that of the first one. */
function hostnamesOf({ priorities }: EndpointsResource): ReadonlyMap<string, string> {
  const hostnames = new Map<string, string>();
  const localities = priorities.flatMap((priority) => priority.localities);
  for (const { addresses, hostname } of localities.flatMap(({ endpoints }) => endpoints)) {
    for (const address of hostname === '' ? [] : addresses) {
      const key = subchannelAddressToString(address);
      if (!hostnames.has(key)) hostnames.set(key, hostname);
    }
  }
  return hostnames;
}
