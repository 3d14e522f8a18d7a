import {
  subchannelAddressToString,
  type ChannelCredentials,
  type ChannelOptions,
  type Subchannel,
  type SubchannelAddress,
} from '../../grpc-js';
import { channelCredentialsOf, replaceConnector, secureAsHost } from '../../grpc-js/host-internals';
import type { ClusterResource } from '../../resources/cluster/cluster';
import type { UpstreamTls } from '../../resources/tls/tls';
import type { EndpointsResource } from '../../resources/endpoints/endpoints';
import { RefusingConnector, SecureOnlyConnector } from '../../security/client/contained-connector';
import {
  describeForeignXdsCredentials,
  isXdsCredentials,
} from '../../security/client/other-copies';
import {
  comparesNames,
  ENDPOINT_HOSTNAME_ARG,
  NO_TLS_POLICY,
  noCertificates,
  serverNameOf,
  TLS_POLICY_ARG,
  TlsPolicy,
} from '../../security/client/tls-policy';
import type { CertificateSource } from '../../security/providers/certificate-provider';
import { LoggedOnce } from '../../util/logged-once';
import type { Logger } from '../../util/logger';
import { diagnostics } from '../../xds-client/diagnostics';
import { quoteName } from '../../util/text';
import { AddressValues } from './address-values';

/** A cluster in use. */
export interface UsedCluster {
  /** The name under which it is watched. */
  readonly name: string;
  readonly resource: ClusterResource;
  /** `node.id` of the bootstrap. */
  readonly nodeId: string;
}

/** The clusters of a process that were reported because their TLS is not used, or compares no names. */
export class UnusedTlsReports {
  private readonly reported = new LoggedOnce();

  /** Reports once a cluster whose servers may have any name. */
  reportNameless(cluster: string, nodeId: string, logger: Logger): void {
    if (!this.reported.isFirst(JSON.stringify([nodeId, cluster]))) return;
    logger.info(
      () =>
        `xds: Cluster ${quoteName(cluster)} (node "${nodeId}"): no name of its servers is compared: every certificate that the trusted ` +
        'authorities have signed is accepted; add match_typed_subject_alt_names, or auto_sni_san_validation with a server name',
    );
  }

  /**
   * Reports a cluster to the log and to the subscribers of `grpc-xds:tls-not-used`, once for each problem.
   *
   * @param problem The text in the errors of calls.
   */
  report({ name, nodeId }: UsedCluster, problem: string, logger: Logger): void {
    if (!this.reported.isFirst(JSON.stringify([nodeId, name, problem]))) return;
    logger.error(
      () =>
        `xds: Cluster ${quoteName(name)} (node "${nodeId}"): ${problem}: the credentials decide how connections are secured, ` +
        'the transport_socket of the cluster has no effect',
    );
    const { tlsNotUsed } = diagnostics;
    if (tlsNotUsed.hasSubscribers) tlsNotUsed.publish({ nodeId, cluster: name });
  }
}

/** What is known of the credentials of a channel. Those of an application may have xDS credentials inside. */
type CredentialsKind = 'xds' | 'insecure' | 'tls' | 'application';

/**
 * Sees to the security of one cluster's connections (gRFC A29). Each subchannel gets the policy that is in force when it is
 * created, whatever is between it and the cluster, unless the channel has credentials of grpc-js, which decide for themselves.
 */
export class TransportSecurity {
  private policy: TlsPolicy | undefined;
  /** `undefined` until there is a subchannel to see them on. */
  private credentials: CredentialsKind | undefined;
  /** Whether the credentials of the application were seen to prepare no connection by the policy. */
  private isIgnored = false;
  /** The server names that the policy takes from the endpoints. */
  private readonly serverNames = new AddressValues<string>(({ hostname }) => {
    const name = this.policy && serverNameOf(this.policy.tls, hostname);
    return name === '' ? undefined : name;
  }, Object.is);
  /** The latest arguments without a policy. */
  private plainArgs: { readonly from: ChannelOptions; readonly args: ChannelOptions } | undefined;

  constructor(
    private readonly reports: UnusedTlsReports,
    private readonly logger: Logger,
  ) {}

  /** Whether the cluster configures TLS that the credentials of the channel do not provide. */
  get isUnused(): boolean {
    if (this.policy === undefined || this.credentials === undefined) return false;
    return !this.isEffective || (this.isIgnored && !this.policy.isUsed);
  }

  /** Whether the policy is part of subchannels: credentials of grpc-js ignore it. */
  private get isEffective(): boolean {
    return this.credentials !== 'insecure' && this.credentials !== 'tls';
  }

  /**
   * Takes the security configuration of the cluster, and the names of the endpoints that it applies to.
   * @returns whether a connection must be made in another way than before.
   */
  update(
    cluster: string,
    { tls }: ClusterResource,
    certificates: CertificateSource | undefined,
    endpoints: EndpointsResource,
  ): boolean {
    const before = this.policy;
    if (before === undefined && tls === undefined) return false;
    this.policy = nextPolicy(before, cluster, tls, certificates);
    if (before !== this.policy) this.serverNames.update(undefined);
    const isNamed = this.policy?.tls.autoHostSni === true;
    const isRenamed = this.serverNames.update(isNamed ? endpoints : undefined);
    if (before === this.policy) return isRenamed && this.isEffective;
    this.isIgnored = false;
    // Other credentials ignore the policy, and need no other connections.
    if (!this.isEffective) return false;
    if (this.policy === undefined && (before?.isUsed === true || this.credentials === 'xds'))
      this.reportEnd(cluster);
    return true;
  }

  /** Forgets the configuration of a cluster that has no endpoints of its own any more. */
  clear(): void {
    this.policy = undefined;
    this.serverNames.update(undefined);
  }

  /**
   * Returns the arguments of a subchannel, with the policy, or with the note that there is none, and with the server name, if
   * that is the hostname of the endpoint (gRFC A101).
   */
  argsOf(address: SubchannelAddress, args: ChannelOptions): ChannelOptions {
    if (this.policy === undefined || !this.isEffective) {
      // One object for all subchannels with the same arguments.
      if (this.plainArgs?.from !== args) {
        this.plainArgs = { from: args, args: { ...args, [TLS_POLICY_ARG]: NO_TLS_POLICY } };
      }
      return this.plainArgs.args;
    }
    const { cluster, tls, certificates } = this.policy;
    const name = this.serverNames.get(subchannelAddressToString(address)) ?? '';
    if (!comparesNames(tls, name)) {
      this.reports.reportNameless(cluster, certificates.nodeId, this.logger);
    }
    return {
      ...args,
      [TLS_POLICY_ARG]: this.policy,
      ...(name !== '' && { [ENDPOINT_HOSTNAME_ARG]: name }),
    };
  }

  /**
   * Reads the credentials off a new subchannel. One whose credentials cannot read the policy will not connect.
   * @returns whether anything was not known before.
   */
  observe(subchannel: Subchannel): boolean {
    if (this.policy === undefined && this.credentials !== undefined) return false;
    const channelCredentials = channelCredentialsOf(subchannel);
    // What cannot be seen may be xDS credentials, which must never fall back to plain text.
    if (channelCredentials === undefined) return false;
    if (this.policy !== undefined) refuseForeign(subchannel, channelCredentials);
    const isIgnored =
      this.credentials === 'application' && this.policy !== undefined && !this.policy.isUsed;
    const isNew = this.credentials === undefined || isIgnored !== this.isIgnored;
    this.credentials ??= kindOf(channelCredentials);
    this.isIgnored = isIgnored;
    return isNew;
  }

  /**
   * Returns the resolution note of a cluster. If its TLS is known not to be used, the note starts with that, and the
   * cluster is reported. The note is part only of errors without a connection, not of drops, deadlines or the statuses
   * of servers.
   */
  completeNote(cluster: UsedCluster, resolutionNote: string): string {
    const problem = this.policy && this.describe();
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
        `xds: Cluster ${quoteName(cluster)}: the control plane no longer configures TLS: new connections are made with the fallback ` +
        'credentials of the channel',
    );
  }
}

/** Without certificates, connections under the policy fail: none is made in another way. */
function nextPolicy(
  before: TlsPolicy | undefined,
  cluster: string,
  tls: UpstreamTls | undefined,
  certificates: CertificateSource = noCertificates,
): TlsPolicy | undefined {
  if (tls === undefined) return undefined;
  return before?.next(cluster, tls, certificates) ?? new TlsPolicy(cluster, tls, certificates);
}

function kindOf(channelCredentials: ChannelCredentials): CredentialsKind {
  if (isXdsCredentials(channelCredentials)) return 'xds';
  if (!secureAsHost(channelCredentials)) return 'application';
  return channelCredentials._isSecure() ? 'tls' : 'insecure';
}

/**
 * Credentials of another copy of this package would take their fallback for a policy that they cannot read. For credentials of an
 * application that hide their kind, only the connections that they make show it.
 */
function refuseForeign(subchannel: Subchannel, channelCredentials: ChannelCredentials): void {
  const problem = describeForeignXdsCredentials(channelCredentials);
  if (problem === undefined && kindOf(channelCredentials) !== 'application') return;
  replaceConnector(subchannel.getRealSubchannel(), (connector) => {
    if (problem !== undefined)
      return new RefusingConnector(problem, connector.getCallCredentials());
    return connector instanceof SecureOnlyConnector
      ? connector
      : new SecureOnlyConnector(connector);
  });
}
