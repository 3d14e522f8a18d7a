import { rollUpTarget } from './roll-up';
import { X509Certificate } from 'node:crypto';
import { describeHeldBack } from '../../dependency-manager/held-back';
import {
  BOOLEAN,
  BYTES,
  checkOptions,
  optional,
  TEXT,
  type MembersOf,
} from '../../util/check-arguments';
import { err } from '../../util/result';
import type { LiveResolution } from '../../resolver/resolver-dependencies';
import type { CertificatesInUse } from '../../security/providers/used-providers';
import { PROCESS_START_MS, type Clock } from '../../util/clock';
import { PACKAGE_VERSION } from '../../util/version';
import { type ClientSnapshot, type ResourceSnapshot } from '../../xds-client/client-snapshot';
import { SERVER_TARGET } from '../../util/report-targets';
import type {
  HeldBackReport,
  InspectOptions,
  InspectReport,
  ResourceReport,
  TargetReport,
  CertificatesReport,
  CertificateState,
} from './inspect-report';
import { describeChannels } from './channel-report';
import type { InspectedClient, InspectedProcess } from './inspected-process';
import { processServers } from './process-servers';
import { describeServerTarget } from './server-target';
import { toIso } from '../../util/since';
import { describeChanges, Contents, redact } from './resource-report';
import { shortName } from '../../util/text';

const OPTIONS: MembersOf<InspectOptions> = {
  target: optional(TEXT),
  contents: optional(BOOLEAN),
  maxBytes: optional(BYTES),
};

// Loaded with this module, for a live page.
export { observe } from './observed-process';

/** A process without channels for xds: targets. */
const NOTHING: InspectedProcess = {
  clients: [],
  servers: () => processServers.reports(),
  certificates: [],
  shares: [],
  describePolicies: () => undefined,
  policyFailures: () => new Map(),
  describeUnusedFields: () => [],
  resolve: () => Promise.resolve(err('there is no channel')),
};

/** The number of pending resources that are named for each target. */
const MAX_WAITS = 100;

/** Reports the state of a process. Default: one without channels. @throws XdsError if an option is unknown. */
export function inspectProcess(
  options: InspectOptions,
  clock: Clock,
  parts: Partial<InspectedProcess> = {},
): InspectReport {
  const inspected: InspectedProcess = { ...NOTHING, ...parts };
  checkOptions('inspect()', options, OPTIONS);
  const contents = options.contents === true ? new Contents(options.maxBytes) : undefined;
  const targets = inspected.clients.filter(
    ({ scope }) => options.target === undefined || options.target === scope,
  );
  const channels = describeChannels();
  const report: InspectReport = {
    schema: 1,
    package: 'grpc-xds',
    version: PACKAGE_VERSION,
    pid: process.pid,
    startedAt: toIso(PROCESS_START_MS),
    time: toIso(clock.now()),
    targets: targets.map((client) => ({
      target: client.scope,
      nodeId: client.nodeId,
      ...describeTarget(client, inspected.describePolicies),
      heldBack: describeHeld(client.resolution(), clock.now()),
      channels: channels.get(client.scope) ?? [],
      ...describeClient(client.snapshot(), inspected, contents),
    })),
    servers: includesServers(options) ? inspected.servers() : [],
    shares: inspected.shares,
    certificates: inspected.certificates.map(describeCertificates),
  };
  return redact(report);
}

function includesServers({ target }: InspectOptions): boolean {
  return target === undefined || target === SERVER_TARGET;
}

type DescribedTarget = Pick<
  TargetReport,
  'state' | 'rollUp' | 'failure' | 'failingSince' | 'waitingFor' | 'config' | 'policies'
>;

/** Describes the config of a target and the policies of its channel. */
export function describeTarget(
  { scope, resolution, snapshot }: Pick<InspectedClient, 'scope' | 'resolution' | 'snapshot'>,
  describePolicies: InspectedProcess['describePolicies'],
): DescribedTarget {
  if (scope === SERVER_TARGET) {
    const described = describeServerTarget(snapshot(), MAX_WAITS);
    // It has no clusters.
    const { state } = described;
    return {
      ...described,
      rollUp: state === 'ready' ? { state, text: state } : rollUpTarget(described),
    };
  }
  const described = describeResolution(resolution(), describePolicies);
  return { ...described, rollUp: rollUpTarget(described) };
}

function describeResolution(
  resolution: LiveResolution | undefined,
  describePolicies: InspectedProcess['describePolicies'],
): Omit<DescribedTarget, 'rollUp'> {
  if (resolution === undefined) return { state: 'waiting', waitingFor: [] };
  const { failure, failingSince, live } = resolution;
  const waitingFor = resolution.waitingFor(MAX_WAITS);
  const policies = describePolicies(resolution);
  const state = live !== undefined ? 'ready' : failure !== undefined ? 'failed' : 'waiting';
  return {
    state,
    waitingFor,
    ...(failure !== undefined && { failure }),
    ...(failingSince !== undefined && { failingSince }),
    ...(live !== undefined && { config: describeConfig(live) }),
    ...(policies !== undefined && { policies }),
  };
}

function describeHeld(
  resolution: LiveResolution | undefined,
  nowMs: number,
): readonly HeldBackReport[] {
  const held = resolution?.heldBack(MAX_WAITS) ?? [];
  return held.map(({ ageMs, ...rest }) => ({
    ...rest,
    receivedAt: toIso(nowMs - ageMs),
    text: describeHeldBack({ ageMs, ...rest }),
  }));
}

function describeConfig({
  config: { listener, routeConfig, virtualHost, clusters },
}: NonNullable<LiveResolution['live']>): NonNullable<TargetReport['config']> {
  return {
    listener: listener.name,
    routeConfig: routeConfig.name,
    virtualHost: virtualHost.name,
    routes: virtualHost.routes.length,
    clusters: [...clusters].map(([name, result]) =>
      result.ok ? { name } : { name, error: result.error.message },
    ),
  };
}

function describeClient(
  snapshot: ClientSnapshot,
  { describeUnusedFields }: InspectedProcess,
  contents: Contents | undefined,
): Pick<TargetReport, 'servers' | 'resources' | 'changes'> {
  const { servers, resources } = snapshot;
  return {
    servers,
    resources: resources.map((resource): ResourceReport => {
      const { accepted } = resource;
      return {
        ...describeResource(resource),
        unusedFields: accepted ? describeUnusedFields(resource.typeUrl, accepted.bytes) : [],
        ...(contents && accepted && { contents: contents.of(resource.typeUrl, accepted.bytes) }),
      };
    }),
    changes: describeChanges(snapshot, contents),
  };
}

/** Describes a resource, without its contents. */
export function describeResource({
  typeUrl,
  name,
  status,
  accepted,
  failure,
  watchers,
  waitingSinceMs,
}: ResourceSnapshot): Omit<ResourceReport, 'unusedFields' | 'contents'> {
  return {
    type: shortName(typeUrl),
    name,
    status,
    watchers,
    ...(accepted && {
      version: accepted.version,
      updatedAt: toIso(accepted.updatedAtMs),
      bytes: accepted.bytes.length,
    }),
    ...(failure && {
      failure: {
        version: failure.version,
        details: failure.details,
        at: toIso(failure.atMs),
        since: toIso(failure.sinceMs),
      },
    }),
    ...(waitingSinceMs !== undefined && { waitingSince: toIso(waitingSinceMs) }),
  };
}

/** Describes the certificates of a provider. */
export function describeCertificates({
  instanceName: instance,
  pluginName: plugin,
  certificateName: name,
  current: { identity, roots },
}: CertificatesInUse): CertificatesReport {
  return {
    instance,
    plugin,
    name,
    identity: describeState(identity, ({ certificateChain }) => splitPem(certificateChain)),
    roots: describeState(roots, ({ certificates }) => certificates),
  };
}

function describeState<T>(
  result:
    | { readonly ok: true; readonly value: T }
    | { readonly ok: false; readonly error: string }
    | undefined,
  read: (value: T) => readonly string[],
): CertificateState {
  if (result === undefined) return { state: 'pending' };
  if (!result.ok) return { state: 'failed', error: result.error };
  const pems = read(result.value);
  let firstExpiry = Infinity;
  for (const pem of pems) {
    firstExpiry = Math.min(firstExpiry, Date.parse(new X509Certificate(pem).validTo));
  }
  return { state: 'ready', certificates: pems.length, expiresAt: toIso(firstExpiry) };
}

function splitPem(chain: string): readonly string[] {
  return chain.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}
