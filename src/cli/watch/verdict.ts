import type { ChangeReport, ChildState, EndpointState, PolicyState, TargetReport } from '../client';

/** Returns the state of a target in one line: whether calls work, and through which endpoints; or what they wait for. */
export function formatVerdict(report: TargetReport | undefined): string {
  if (report === undefined) return 'WAITING  for the bootstrap';
  const { state, failure, waitingFor, policies } = report;
  if (state === 'failed') return `FAILED  ${failure ?? ''}`;
  if (state === 'waiting') return `WAITING  ${waitingFor[0] ?? 'for the control plane'}`;
  if (policies === undefined) return 'CONNECTING';
  const clusters = (policies.children ?? []).map(formatCluster);
  return `${policies.state}  ${clusters.join('; ')}`;
}

function formatCluster(cluster: ChildState): string {
  const name = String(cluster.details?.['cluster'] ?? cluster.name ?? '');
  const parts = placesOf(cluster).map(formatPlace);
  const error = cluster.error === undefined ? '' : `: ${cluster.error}`;
  const state = cluster.state === 'READY' ? '' : ` ${cluster.state}${error}`;
  return `${name}${state} ${parts.join(', ')}`.trimEnd();
}

/** The endpoints of a locality, or of a policy without localities. */
interface Place {
  readonly priority: number;
  /** Such as `eu/a`; `-` without a locality. */
  readonly locality: string;
  readonly isInUse: boolean;
  readonly endpoints: readonly EndpointState[];
}

/** Finds the endpoints below a policy, by priority and locality. */
function placesOf(policy: PolicyState): readonly Place[] {
  const found: Place[] = [];
  collect(policy, { priority: 0, locality: '-', isInUse: true }, found);
  return found;
}

function collect(policy: PolicyState, at: Omit<Place, 'endpoints'>, found: Place[]): void {
  if (policy.endpoints !== undefined) found.push({ ...at, endpoints: policy.endpoints });
  const isPriority = policy.policy === 'priority_experimental';
  for (const [index, child] of (policy.children ?? []).entries()) {
    const locality = localityOf(child.name) ?? at.locality;
    const next = isPriority
      ? { ...at, priority: index, isInUse: child.role?.['inUse'] === true }
      : at;
    collect(child, { ...next, locality }, found);
  }
}

/** Reads the name of a locality, `{region="eu", zone="a", sub_zone=""}`. */
function localityOf(name: string | undefined): string | undefined {
  const parts = /^\{region="(.*)", zone="(.*)", sub_zone="(.*)"\}$/.exec(name ?? '');
  if (parts === null) return undefined;
  const text = parts
    .slice(1)
    .filter((part) => part !== '')
    .join('/');
  return text === '' ? '-' : text;
}

function formatPlace({ priority, locality, isInUse, endpoints }: Place): string {
  const ready = endpoints.filter(({ state }) => state === 'READY').length;
  const idle = isInUse ? '' : ' not in use';
  return `p${priority} ${locality} ${ready}/${endpoints.length}${idle}`;
}

/** Formats each endpoint below its priority and locality. */
export function formatTree({ policies }: TargetReport): readonly string[] {
  return (policies?.children ?? []).flatMap((cluster) => [
    `cluster ${String(cluster.details?.['cluster'] ?? cluster.name ?? '')}  ${cluster.state}`,
    ...placesOf(cluster).flatMap((place) => [
      `  ${formatPlace(place)}`,
      ...place.endpoints
        .slice(0, MAX_ENDPOINTS)
        .map((endpoint) => `    ${formatEndpoint(endpoint)}`),
      ...(place.endpoints.length > MAX_ENDPOINTS
        ? [`    and ${place.endpoints.length - MAX_ENDPOINTS} more`]
        : []),
    ]),
  ]);
}

/** Endpoints of a locality that are listed. */
const MAX_ENDPOINTS = 20;

function formatEndpoint({ addresses, state, health, weight, error }: EndpointState): string {
  const words = [addresses.join(' '), state];
  if (health !== 'UNKNOWN') words.push(health);
  if (weight !== 1) words.push(`weight ${weight}`);
  if (error !== undefined) words.push(error);
  return words.join('  ');
}

/** Formats each management server with its state. */
export function formatServers({ servers }: TargetReport): readonly string[] {
  return servers.map(({ serverUri, state, lastError, retryInMs }) => {
    const error = lastError === undefined ? '' : `: ${lastError}`;
    // Rounded up, so that the line changes once a second at most.
    const retry =
      retryInMs === undefined ? '' : `; next attempt in ${Math.ceil(retryInMs / 1000)} s`;
    return `${serverUri}  ${state}${error}${retry}`;
  });
}

/** Formats a change of a resource. */
export function formatChange({ type, name, kind, version, text }: ChangeReport): string {
  const which = version === '' ? '' : ` version ${version}`;
  return `${type} ${JSON.stringify(name)} ${kind}${which}${text === '' ? '' : `: ${text}`}`;
}
