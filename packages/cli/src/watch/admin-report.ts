import { getChannelzServiceDefinition, status } from '@grpc/grpc-js';
import { errorMessage } from '../../../../src/util/errors';
import { ok, type Result } from '../../../../src/util/result';
import {
  Cluster,
  Cluster_DiscoveryType,
} from '../../../../src/wire/generated/envoy/config/cluster/v3/cluster';
import { ClusterLoadAssignment } from '../../../../src/wire/generated/envoy/config/endpoint/v3/endpoint';
import type { LbEndpoint } from '../../../../src/wire/generated/envoy/config/endpoint/v3/endpoint_components';
import type { Address } from '../../../../src/wire/generated/envoy/config/core/v3/address';
import type { ClientConfig } from '../../../../src/wire/generated/envoy/service/status/v3/csds';
import { joinHostPort } from '../../../../src/util/text';
import { listAt, numberAt, valueAt } from '../../../../src/util/value-at';
import { AdminClient, type AdminFailure } from '../dump/admin-client';
import { failed, type ProcessReport, type SourceFailure } from '../dump/process-report';
import { exitCode, type CliIo } from '../io';

/** Channels of a process, and subchannels of each, that are looked at. */
const MAX_CHANNELS = 100;
const MAX_SUBCHANNELS = 1000;
/** Requests at a time. */
const CONCURRENCY = 50;
/** The name of endpoints that are of no cluster, such as those that were removed a moment ago. */
const OTHER = '(other endpoints)';

/** The state and the calls of a channel or subchannel, as channelz has them. */
interface Entity {
  readonly id: number;
  readonly state: string;
  readonly calls: { readonly started: number; readonly succeeded: number; readonly failed: number };
}

interface Subchannel extends Entity {
  readonly address: string;
}

/** A channel with an `xds:` target. */
interface XdsChannel extends Entity {
  readonly target: string;
  readonly subchannels: readonly Subchannel[];
}

/** The endpoints of a locality of a cluster, each with its addresses. */
interface AssignedLocality {
  readonly name: string;
  readonly endpoints: readonly (readonly string[])[];
}

/** The clusters of a target. */
interface AssignedClusters {
  readonly clusters: ReadonlyMap<string, readonly AssignedLocality[]>;
  /** The name of the clusters whose endpoints no resource has, such as those of DNS. */
  readonly unassigned: string;
}

/**
 * Reads the report of a relay, or else the channels of a process over channelz, and over CSDS (gRFC A40) to which cluster and locality their
 * endpoints belong.
 *
 * @returns a report in the form of `inspect()`, with what these services have: no latencies, and no state of policies but
 * what follows from the subchannels.
 */
export async function fetchAdminReport(
  address: string,
  timeoutMs: number,
  { clock }: Pick<CliIo, 'clock'>,
): Promise<Result<ProcessReport, SourceFailure>> {
  const client = new AdminClient(address, timeoutMs);
  try {
    const inspected = await client.inspectRelay();
    if (inspected.ok) return ok({ source: address, text: inspected.value });
    if (inspected.error.code !== status.UNIMPLEMENTED) {
      return failed(inspected.error.text, exitCode.unreachable);
    }
    const fetched = await client.fetchStatus();
    if (!fetched.ok) return failed(fetched.error.text, exitCode.unreachable);
    const channels = await readChannels(client);
    if (!channels.ok) return failed(channels.error.text, exitCode.unreachable);
    const time = new Date(clock.now()).toISOString();
    const targets = targetsOf(channels.value, fetched.value.config);
    return ok({ source: address, text: JSON.stringify({ schema: 1, time, targets }) });
  } catch (error) {
    return failed(`--admin ${address}: ${errorMessage(error)}`, exitCode.unreachable);
  } finally {
    client.close();
  }
}

async function readChannels(
  client: AdminClient,
): Promise<Result<readonly XdsChannel[], AdminFailure>> {
  const { GetTopChannels } = getChannelzServiceDefinition();
  const channels: XdsChannel[] = [];
  let first = 0;
  for (;;) {
    const response = await client.call(GetTopChannels, { start_channel_id: first });
    if (!response.ok) return response;
    const page = listAt(response.value, 'channel');
    for (const channel of page) {
      first = numberAt(channel, 'ref', 'channel_id') + 1;
      const target = valueAt(channel, 'data', 'target');
      if (typeof target !== 'string' || !/^xds:/i.test(target)) continue;
      const subchannels = await readSubchannels(client, channel);
      if (!subchannels.ok) return subchannels;
      const id = numberAt(channel, 'ref', 'channel_id');
      channels.push({ target, ...readEntity(id, channel), subchannels: subchannels.value });
      if (channels.length === MAX_CHANNELS) return ok(channels);
    }
    if (valueAt(response.value, 'end') === true || page.length === 0) return ok(channels);
  }
}

async function readSubchannels(
  client: AdminClient,
  channel: unknown,
): Promise<Result<readonly Subchannel[], AdminFailure>> {
  const { GetSubchannel } = getChannelzServiceDefinition();
  const ids = listAt(channel, 'subchannel_ref')
    .slice(0, MAX_SUBCHANNELS)
    .map((ref) => numberAt(ref, 'subchannel_id'));
  const found: Subchannel[] = [];
  for (let i = 0; i < ids.length; i += CONCURRENCY) {
    const part = ids.slice(i, i + CONCURRENCY);
    const read = await Promise.all(
      part.map(async (id) => ({
        id,
        result: await client.call(GetSubchannel, { subchannel_id: id }),
      })),
    );
    for (const { id, result } of read) {
      // One that is gone meanwhile is not found.
      if (!result.ok && result.error.code !== status.NOT_FOUND) return result;
      const entity = result.ok ? valueAt(result.value, 'subchannel') : undefined;
      const address = valueAt(entity, 'data', 'target');
      if (typeof address === 'string') found.push({ address, ...readEntity(id, entity) });
    }
  }
  return ok(found);
}

function readEntity(id: number, entity: unknown): Entity {
  const state = valueAt(entity, 'data', 'state', 'state');
  const [started, succeeded, failed] = [
    numberAt(entity, 'data', 'calls_started'),
    numberAt(entity, 'data', 'calls_succeeded'),
    numberAt(entity, 'data', 'calls_failed'),
  ];
  return {
    id,
    state: typeof state === 'string' ? state : '',
    calls: { started, succeeded, failed },
  };
}

function targetsOf(
  channels: readonly XdsChannel[],
  configs: readonly ClientConfig[],
): readonly object[] {
  return [...new Set(channels.map(({ target }) => target))].map((target) => {
    const own = channels.filter((channel) => channel.target === target);
    const scoped = configs.filter(({ clientScope }) => clientScope === target);
    const clusters = readClusters(scoped.length > 0 ? scoped : configs);
    const subchannels = own.flatMap((channel) => channel.subchannels);
    const children = childrenOf(clusters, subchannels);
    const policies = { state: stateOf(own), children };
    return { target, channels: own, policies };
  });
}

/** Reads which endpoints the clusters have. */
function readClusters(configs: readonly ClientConfig[]): AssignedClusters {
  const resources = configs.flatMap(({ genericXdsConfigs }) => genericXdsConfigs);
  const ofType = (name: string) =>
    resources.flatMap(({ typeUrl, xdsConfig }) =>
      typeUrl.endsWith(`/${name}`) && xdsConfig !== undefined ? [xdsConfig.value] : [],
    );
  const assignments = new Map<string, readonly AssignedLocality[]>();
  for (const bytes of ofType('envoy.config.endpoint.v3.ClusterLoadAssignment')) {
    const { clusterName, endpoints } = ClusterLoadAssignment.decode(bytes);
    assignments.set(
      clusterName,
      endpoints.map(({ locality, lbEndpoints }) => {
        const { region = '', zone = '', subZone = '' } = locality ?? {};
        const quoted = [region, zone, subZone].map((part) => JSON.stringify(part));
        const name = `{region=${quoted[0]}, zone=${quoted[1]}, sub_zone=${quoted[2]}}`;
        return { name, endpoints: lbEndpoints.map(addressesOf) };
      }),
    );
  }
  const clusters = new Map<string, readonly AssignedLocality[]>();
  const ofDns: string[] = [];
  for (const bytes of ofType('envoy.config.cluster.v3.Cluster')) {
    const { name, edsClusterConfig, clusterDiscoveryType: kind } = Cluster.decode(bytes);
    if (kind?.$case === 'type' && kind.value === Cluster_DiscoveryType.LOGICAL_DNS)
      ofDns.push(name);
    const localities = assignments.get(edsClusterConfig?.serviceName || name);
    if (localities !== undefined) clusters.set(name, localities);
  }
  return { clusters, unassigned: ofDns.length === 0 ? OTHER : ofDns.join(', ') };
}

function addressesOf({ hostIdentifier }: LbEndpoint): readonly string[] {
  if (hostIdentifier?.$case !== 'endpoint') return [];
  const { address, additionalAddresses } = hostIdentifier.value;
  return [address, ...additionalAddresses.map((each) => each.address)].flatMap(textOfAddress);
}

function textOfAddress(address: Address | undefined): readonly string[] {
  if (address?.address?.$case !== 'socketAddress') return [];
  const { address: host, portSpecifier } = address.address.value;
  return portSpecifier?.$case === 'portValue' ? [joinHostPort(host, portSpecifier.value)] : [];
}

/** Makes a policy of each cluster that has a subchannel, and one of the subchannels that are of none. */
function childrenOf(
  { clusters, unassigned }: AssignedClusters,
  subchannels: readonly Subchannel[],
): readonly object[] {
  const byAddress = new Map<string, Subchannel[]>();
  for (const each of subchannels) {
    byAddress.set(each.address, [...(byAddress.get(each.address) ?? []), each]);
  }
  const left = new Set(byAddress.keys());
  const children: object[] = [];
  const add = (cluster: string, localities: readonly AssignedLocality[]) => {
    const addresses = localities.flatMap(({ endpoints }) => endpoints.flat());
    const used = addresses.flatMap((address) => byAddress.get(address) ?? []);
    if (used.length === 0) return;
    for (const address of addresses) left.delete(address);
    const below = localities.map(({ name, endpoints }) => ({
      name,
      endpoints: endpoints.map((own) => describeEndpoint(own, byAddress)),
    }));
    children.push({ name: cluster, state: stateOf(used), children: below });
  };
  for (const [cluster, localities] of clusters) add(cluster, localities);
  add(unassigned, [{ name: '', endpoints: [...left].map((address) => [address]) }]);
  return children;
}

function describeEndpoint(
  addresses: readonly string[],
  byAddress: ReadonlyMap<string, readonly Subchannel[]>,
): object {
  const own = addresses.flatMap((address) => byAddress.get(address) ?? []);
  const inFlight = own.map(
    ({ calls: { started, succeeded, failed } }) => started - succeeded - failed,
  );
  const callsInFlight = inFlight.reduce((total, each) => total + Math.max(0, each), 0);
  return { addresses, state: stateOf(own), callsInFlight };
}

/** The states of which the first one counts, as for round_robin. */
const STATES = ['READY', 'CONNECTING', 'IDLE', 'TRANSIENT_FAILURE'];

function stateOf(entities: readonly { readonly state: string }[]): string {
  return STATES.find((state) => entities.some((each) => each.state === state)) ?? 'IDLE';
}
