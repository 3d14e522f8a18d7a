import type { XdsConfig } from '../../../dependency-manager/xds-config';
import type { LocalityEndpoints, SocketAddress } from '../../../resources/endpoints/endpoints';
import { LoadReporter } from '../../../xds-client/lrs/load-reporter';
import type { ClusterResource } from '../../../resources/cluster/cluster';
import { ok } from '../../../util/result';
import { statusName } from '../../../util/status-code';
import { createNode } from '../../../xds-client/management-servers';
import type { StreamStatus } from '../../../xds-client/transport';
import { USER_AGENT } from '../client-parts';
import type { DoctorContext } from './doctor-context';
import { observeTransports } from './observed-transports';
import { probeSocket, runStep } from './probe-net';

/** Endpoints of a locality that are connected to. */
const MAX_CONNECTS = 5;
/** Localities of a cluster that are connected to. */
const MAX_LOCALITIES = 20;

/** Connects to some endpoints of each locality of each cluster. */
export async function checkEndpoints(
  { clusters }: XdsConfig,
  context: DoctorContext,
): Promise<void> {
  for (const [name, cluster] of clusters) {
    if (!cluster.ok || cluster.value.children.kind === 'aggregate') continue;
    const { endpoints } = cluster.value.children;
    const localities = (endpoints?.priorities ?? []).flatMap((priority, p) =>
      priority.localities.map((locality) => ({ locality, p })),
    );
    for (const { locality, p } of localities.slice(0, MAX_LOCALITIES)) {
      if (locality.endpoints.length === 0) continue;
      await checkLocality(
        `Cluster ${JSON.stringify(name)} p${p} ${placeOf(locality)}`,
        locality,
        context,
      );
    }
  }
}

function placeOf({ locality: { region, zone, subZone } }: LocalityEndpoints): string {
  return [region, zone, subZone].filter((part) => part !== '').join('/') || '-';
}

async function checkLocality(
  subject: string,
  { endpoints, proxy }: LocalityEndpoints,
  { clock, stepMs, findings }: DoctorContext,
): Promise<void> {
  const tried = endpoints
    .slice(0, MAX_CONNECTS)
    .map((each) => each.proxy ?? proxy ?? each.addresses[0]);
  const addresses = tried.filter((each) => each !== undefined);
  const results = await Promise.all(
    addresses.map(async (address) => ({
      address,
      result: await probeSocket(address, clock, stepMs),
    })),
  );
  const failures = results.flatMap(({ address, result }) =>
    result.ok ? [] : [`${format(address)}: ${result.error}`],
  );
  const connected = results.length - failures.length;
  const text = `${connected} of ${results.length} endpoints accept connections`;
  const all = endpoints.length > results.length ? ` (of ${endpoints.length})` : '';
  if (failures.length === 0) {
    findings.ok('connect', subject, `${text}${all}`);
    return;
  }
  const remedy = 'check that the backends run and listen there, and network policies on the way';
  const details = `${text}${all}; ${[...new Set(failures)].join('; ')}`;
  if (connected > 0) findings.warn('connect', subject, details, remedy);
  else findings.fail('connect', subject, details, remedy);
}

function format({ host, port }: SocketAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Opens an LRS stream to each server that clusters name for their load reports (gRFC A27). */
export async function checkLoadReports(
  { clusters }: XdsConfig,
  context: DoctorContext,
): Promise<void> {
  const byServer = new Map<string, ClusterResource>();
  for (const cluster of clusters.values()) {
    const server = cluster.ok ? cluster.value.resource.lrsServer : undefined;
    if (cluster.ok && server !== undefined) byServer.set(server.key, cluster.value.resource);
  }
  if (byServer.size === 0) context.findings.skip('lrs', 'load reports', 'no cluster asks for them');
  for (const cluster of byServer.values()) await checkReporter(cluster, context);
}

async function checkReporter(
  { name, lrsServer: server, discovery }: ClusterResource,
  { bootstrap, parts, access, clock, stepMs, findings }: DoctorContext,
): Promise<void> {
  if (server === undefined) return;
  const subject = `load reports to ${server.serverUri}`;
  const reaction = await runStep<StreamStatus | undefined>(clock, stepMs, (done) => {
    const reporter = new LoadReporter({
      ...parts.environment,
      node: createNode(bootstrap.node, USER_AGENT),
      transportFactory: observeTransports(access.transportFactory, {
        onMessage: () => done(ok(undefined)),
        onClosed: (status) => done(ok(status)),
      }),
      choosesMetrics: parts.environment.flags.lrsPropagation,
    });
    const edsServiceName = discovery.kind === 'eds' ? discovery.serviceName : '';
    const reference = reporter.acquire({ server, cluster: name, edsServiceName, metrics: [] });
    return () => reference.release();
  });
  const remedy = 'serve LRS, or remove lrs_server from the clusters: calls work without';
  if (!reaction.ok) findings.warn('lrs', subject, reaction.error, remedy);
  else if (reaction.value.value === undefined) {
    findings.ok('lrs', subject, `${Math.round(reaction.value.ms)} ms`);
  } else {
    const { code, details } = reaction.value.value;
    const text = `the stream ended with ${statusName(code)}: ${details}`;
    findings.warn('lrs', subject, text, remedy);
  }
}
