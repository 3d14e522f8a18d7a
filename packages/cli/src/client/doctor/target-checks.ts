import {
  type ClusterConfig,
  type XdsConfig,
  type TargetName,
  type ResourceType,
  type ResourceSnapshot,
  type LocalityEndpoints,
  openLoadReports,
  TargetWatch,
  findUnusedFields,
  formatUnusedField,
  type StreamStatus,
  describeUnusableEndpoints,
  type BootstrapOrigin,
} from 'grpc-xds/internal';
import { describeDuration } from '../../../../../src/util/duration';
import { ok, type Result } from '../../../../../src/util/result';
import { watchChannel, type WatchedChannel } from '../target-watch';
import type { DoctorContext, Findings } from './finding';
import { runStep, probeSocket } from './probes';
import { statusName } from '../../../../../src/util/status-code';
import type { ChildState, EndpointState } from 'grpc-xds';
import { assertNever } from '../../../../../src/util/errors';
import { countStates, placesOf, rollUpEndpoint } from '../../../../../src/util/endpoint-counts';
import { joinFirst, joinHostPort } from '../../../../../src/util/text';

/** The endpoints of a cluster that is not an aggregate. */
type LeafChildren = Extract<ClusterConfig['children'], { readonly kind: 'endpoints' }>;

type ClusterResource = ClusterConfig['resource'];

/** Accepted resources of a type are listed up to this number, and counted beyond it. */
const MAX_LISTED = 10;

/**
 * Watches everything that a target depends on until its config is complete, and reports each resource.
 *
 * @returns the config, if there is one.
 */
export async function checkTarget(
  target: TargetName,
  context: DoctorContext,
): Promise<XdsConfig | undefined> {
  const { clock, adsMs, findings } = context;
  let started: Result<TargetWatch, string> | undefined;
  const settled = await runStep<Result<XdsConfig, string>>(clock, adsMs, (done) => {
    const onUpdate = (update: Result<XdsConfig, string>) => done({ ok: true, value: update });
    started = TargetWatch.start(context, target, onUpdate);
    if (!started.ok) done(started);
    return () => {};
  });
  if (started?.ok !== true) {
    const text = settled.ok ? '' : settled.error;
    findings.fail('target', 'target', text, 'correct the target, or add the authority');
    return undefined;
  }
  const watch = started.value;
  try {
    const before = findings.count('fail');
    reportResources([...watch.client.resources()], context);
    for (const line of watch.pendingNames(MAX_LISTED)) {
      findings.fail('dns', 'DNS', line, 'correct the host name in the cluster, or its DNS server');
    }
    const update = settled.ok ? settled.value.value : watch.latest;
    if (update === undefined) return undefined;
    if (update.ok) {
      reportClusters(update.value, context);
      return update.value;
    }
    // A missing or rejected resource is reported above.
    if (findings.count('fail') === before) {
      findings.fail('routes', 'target', update.error, 'add a virtual host with this domain');
    }
    return undefined;
  } finally {
    watch.close();
  }
}

/** Reports whether resources were accepted. */
export function reportResources(
  resources: readonly ResourceSnapshot[],
  context: DoctorContext,
  reader: 'clients' | 'servers' = 'clients',
): void {
  const types: readonly ResourceType<unknown>[] = Object.values(context.parts.types);
  for (const type of types) {
    const own = resources.filter(({ typeUrl }) => typeUrl === type.typeUrl);
    const isListed = own.length <= MAX_LISTED;
    for (const resource of own) reportResource(type, resource, { isListed, reader }, context);
    if (isListed) continue;
    const accepted = own.filter(({ status }) => status === 'ACKED').length;
    context.findings.ok('resource', type.typeName, `${accepted} of ${own.length} accepted`);
  }
}

function reportResource(
  type: ResourceType<unknown>,
  { name, status, accepted, failure }: ResourceSnapshot,
  { isListed, reader }: { readonly isListed: boolean; readonly reader: string },
  { findings, adsMs, bootstrap, parts }: DoctorContext,
): void {
  const details = failure?.details;
  const subject = `${type.typeName} ${JSON.stringify(name)}`;
  switch (status) {
    case 'ACKED': {
      if (isListed) findings.ok('resource', subject, `version ${accepted?.version ?? ''}`);
      if (accepted !== undefined) {
        const { envoyFeatures } = parts.environment.flags;
        const fields = findUnusedFields(type.typeUrl, accepted.bytes, envoyFeatures);
        reportUnused(subject, fields, reader, findings);
      }
      return;
    }
    case 'NACKED': {
      const inUse = accepted === undefined ? '' : `; version ${accepted.version} stays in use`;
      const { version = '', details: why = '' } = failure ?? {};
      const text = `rejected (NACK), version ${version}: ${why}${inUse}`;
      findings.fail('resource-nacked', subject, text, remedyForRejected(why));
      return;
    }
    default:
      findings.fail(
        'resource-missing',
        subject,
        status === 'REQUESTED'
          ? `not received within ${describeDuration(adsMs)}`
          : (details ?? 'does not exist'),
        `add it at the control plane for node id ${JSON.stringify(bootstrap.node.id)}${hintFor(type.typeName, name)}`,
      );
  }
}

/**
 * Notes the fields without effect: control planes for Envoy send some of them to every client. Warns only where something of the
 * resource is left out for them, such as a route.
 */
function reportUnused(
  subject: string,
  fields: ReturnType<typeof findUnusedFields>,
  reader: string,
  findings: Findings,
): void {
  const describe = (some: typeof fields) =>
    `without effect on gRPC ${reader}: ${some.map(formatUnusedField).join(', ')}`;
  const ignored = fields.filter(({ isLeftOut }) => !isLeftOut);
  if (ignored.length > 0) findings.note('unused-field', subject, describe(ignored));
  const leftOut = fields.filter(({ isLeftOut }) => isLeftOut);
  if (leftOut.length > 0)
    findings.warn('unused-field', subject, describe(leftOut), 'do not rely on these fields');
}

/** What is missing in the bootstrap cannot be corrected in the resource, and is not known to `grpc-xds check`. */
function remedyForRejected(details: string): string {
  return /is not in certificate_providers of the bootstrap/.test(details)
    ? 'add the provider to certificate_providers of the bootstrap, or name another one at the control plane'
    : 'correct the resource at the control plane; npx grpc-xds-cli check lists all violations';
}

/** Istio answers a name without a port with listeners of other names. */
function hintFor(typeName: string, name: string): string {
  return typeName === 'Listener' && !/:\d+$/.test(name) ? '; names of Istio end with a port' : '';
}

function reportClusters({ clusters }: XdsConfig, { findings }: DoctorContext): void {
  for (const [name, cluster] of clusters) {
    const subject = `Cluster ${JSON.stringify(name)}`;
    // A resource that is missing or rejected is reported above.
    if (findings.hasFailed(subject)) continue;
    if (!cluster.ok) {
      findings.fail(
        'cluster',
        subject,
        cluster.error.message,
        'correct the cluster at the control plane',
      );
      continue;
    }
    const { children, resource } = cluster.value;
    if (children.kind === 'aggregate') continue;
    if (findings.hasFailed(`ClusterLoadAssignment ${JSON.stringify(serviceOf(resource))}`))
      continue;
    reportEndpoints(subject, { children, resource }, findings);
  }
}

/** The name of the resource with the endpoints of a cluster. */
function serviceOf({ name, discovery }: ClusterResource): string {
  return discovery.kind === 'eds' && discovery.serviceName !== '' ? discovery.serviceName : name;
}

function reportEndpoints(
  subject: string,
  { children, resource }: { readonly children: LeafChildren; readonly resource: ClusterResource },
  findings: Findings,
): void {
  const { endpoints, resolutionNote } = children;
  // Another cause of endpoints that are not known is reported with the assignment.
  const isDns = endpoints === undefined || resource.discovery.kind === 'logical-dns';
  const problem = endpoints && describeUnusableEndpoints(endpoints);
  const isUsable = hasEndpoints(endpoints);
  if (isDns) {
    if (isUsable) return;
    const remedy = 'correct the host name in the cluster, or its DNS server';
    findings.fail('endpoints', subject, `no usable endpoint: ${resolutionNote}`, remedy);
    return;
  }
  if (problem === undefined) return;
  const remedy =
    endpoints.localitiesWithoutWeight === undefined
      ? 'check that backends run, are healthy, and are registered with the control plane'
      : 'set load_balancing_weight of each locality; npx grpc-xds-cli check finds it in a file';
  if (isUsable) findings.warn('endpoints-unused', subject, problem, remedy);
  else findings.fail('endpoints', subject, problem, remedy);
}

function hasEndpoints(assignment: LeafChildren['endpoints']): boolean {
  const localities = assignment?.priorities.flatMap((priority) => priority.localities) ?? [];
  return localities.some(({ endpoints }) => endpoints.length > 0);
}

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
      const whole = `Cluster ${JSON.stringify(name)}`;
      await checkLocality(
        { whole, subject: `${whole} p${p} ${placeOf(locality)}` },
        locality,
        context,
      );
    }
  }
}

function placeOf({ locality: { region, zone, subZone } }: LocalityEndpoints): string {
  return [region, zone, subZone].filter((part) => part !== '').join('/') || '-';
}

/** @param of The locality, and its cluster. */
async function checkLocality(
  { subject, whole }: { readonly subject: string; readonly whole: string },
  { endpoints: listed, proxy }: LocalityEndpoints,
  { clock, stepMs, findings }: DoctorContext,
): Promise<void> {
  // As reports count them: one that takes no new calls does not.
  const endpoints = listed.filter(({ health }) => rollUpEndpoint({ state: 'READY', health }));
  const results = await Promise.all(
    endpoints.slice(0, MAX_CONNECTS).map(async (endpoint) => {
      const address = endpoint.proxy ?? proxy ?? endpoint.addresses[0];
      const result = address && (await probeSocket(address, clock, stepMs));
      return { health: endpoint.health, address, result };
    }),
  );
  const failures = results.flatMap(({ address, result }) =>
    address === undefined || result?.ok !== false
      ? []
      : [`${joinHostPort(address.host, address.port)}: ${result.error}`],
  );
  const { ready: connected, total } = countStates(
    results.map(({ health, result }) =>
      rollUpEndpoint({ state: result?.ok === true ? 'READY' : 'TRANSIENT_FAILURE', health }),
    ),
  );
  if (total === 0) return;
  const text = `${connected} of ${total} endpoints accept connections`;
  const all = endpoints.length > total ? ` (of ${endpoints.length})` : '';
  if (failures.length === 0) {
    findings.ok('connect', subject, `${text}${all}`);
    return;
  }
  const remedy = 'check that the backends run and listen there, and network policies on the way';
  const details = `${text}${all}; ${[...new Set(failures)].join('; ')}`;
  if (connected > 0) findings.warn('connect', subject, details, remedy);
  else findings.fail('connect', subject, details, remedy, whole);
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
  if (byServer.size === 0) context.findings.note('lrs', 'load reports', 'no cluster asks for them');
  for (const cluster of byServer.values()) await checkReporter(cluster, context);
}

async function checkReporter(cluster: ClusterResource, context: DoctorContext): Promise<void> {
  const { clock, stepMs, findings } = context;
  const { lrsServer: server } = cluster;
  if (server === undefined) return;
  const subject = `load reports to ${server.serverUri}`;
  const reaction = await runStep<StreamStatus | undefined>(clock, stepMs, (done) => {
    const reports = openLoadReports(context, server, cluster, {
      onMessage: () => done(ok(undefined)),
      onClosed: (status) => done(ok(status)),
    });
    return () => reports.release();
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

const INTERVAL_MS = 50;

/**
 * Opens a channel for the target, with the TLS that the control plane configures, and reports the state of each cluster:
 * what remains between a reachable endpoint and a working call.
 */
export async function checkChannel(
  { target, config }: { readonly target: string; readonly config: XdsConfig },
  origin: BootstrapOrigin,
  context: DoctorContext,
): Promise<void> {
  const { findings, clock, stepMs } = context;
  const opened = watchChannel(target, origin);
  if (!opened.ok) {
    findings.fail('channel', 'channel', opened.error, 'correct the target and the bootstrap');
    return;
  }
  const channel = opened.value;
  try {
    await runStep<undefined>(clock, stepMs, (done) => {
      const poll = { timer: clock.setTimer(() => look(), 0, true) };
      const look = () => {
        if (clustersOf(channel).every(({ state }) => state !== 'CONNECTING')) done(ok(undefined));
        else poll.timer = clock.setTimer(look, INTERVAL_MS, true);
      };
      return () => poll.timer.release();
    });
    for (const cluster of clustersOf(channel)) report(cluster, config, context);
  } finally {
    channel.release();
  }
}

/** A cluster of a channel that has no config yet: it is as if connecting. */
const PENDING: readonly ChildState[] = [{ name: 'the target', policy: '', state: 'CONNECTING' }];

function clustersOf(channel: WatchedChannel): readonly ChildState[] {
  const children = channel.report()?.policies?.children ?? [];
  return children.length === 0 ? PENDING : children;
}

function report(child: ChildState, config: XdsConfig, { findings, stepMs }: DoctorContext): void {
  const { details, name, state, error } = child;
  const cluster = details?.['cluster'];
  const subject = cluster === undefined ? (name ?? '') : `Cluster ${JSON.stringify(cluster)}`;
  switch (state) {
    case 'READY':
      findings.ok('channel', subject, 'a channel is connected');
      return;
    case 'IDLE':
      findings.ok('channel', subject, 'connects with the first call');
      return;
    case 'CONNECTING':
    case 'TRANSIENT_FAILURE':
    case 'SHUTDOWN': {
      const parts = [String(cluster), ...leavesOf(String(cluster), config)];
      if (parts.some((part) => findings.hasFailed(`Cluster ${JSON.stringify(part)}`))) {
        findings.skip('channel', subject, 'no connection, because of the failure above');
        return;
      }
      const late = `not connected within ${describeDuration(stepMs)}${describeHung(child)}`;
      const text = state === 'CONNECTING' ? late : (error ?? 'no connection');
      const isEmpty = !placesOf(child).some(({ endpoints = [] }) => endpoints.length > 0);
      findings.fail('channel', subject, text, remedyFor(text, isEmpty, usesTls(parts, config)));
      return;
    }
    default:
      assertNever(state);
  }
}

/** Names the endpoints below a policy that neither connect nor fail. */
function describeHung(policy: ChildState): string {
  const hung = connectingBelow(policy);
  if (hung.length === 0) return '';
  return `: no answer from ${joinFirst(hung)}`;
}

function connectingBelow(policy: ChildState): readonly string[] {
  return placesOf<EndpointState>(policy).flatMap(({ endpoints = [], isInUse }) =>
    endpoints
      .filter((each) => rollUpEndpoint(each, isInUse) === 'waiting')
      .flatMap(({ addresses }) => addresses.slice(0, 1)),
  );
}

/** Whether the control plane configures TLS for any of these clusters. */
function usesTls(names: readonly string[], { clusters }: XdsConfig): boolean {
  return names.some((name) => {
    const cluster = clusters.get(name);
    return cluster?.ok === true && cluster.value.resource.tls !== undefined;
  });
}

function leavesOf(name: string, { clusters }: XdsConfig): readonly string[] {
  const cluster = clusters.get(name);
  const children = cluster?.ok === true ? cluster.value.children : undefined;
  return children?.kind === 'aggregate' ? children.leafClusters : [];
}

/** What to do about the failure of a channel whose endpoints accept connections, or are not connected to before. */
function remedyFor(text: string, isEmpty: boolean, isTls: boolean): string {
  if (/ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ENOTFOUND/.test(text)) {
    return 'check that the backends run and listen there, and network policies on the way';
  }
  if (isEmpty) {
    return 'check that backends run, are healthy, and are registered with the control plane';
  }
  return isTls
    ? 'check that the backends serve gRPC over TLS, the certificates of both sides, and their log'
    : 'check that the backends serve gRPC without TLS on this port, that they are not blocked, and their log';
}
