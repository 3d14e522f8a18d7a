import { buildCluster, leadsToSame, type ClusterResult } from './build-cluster';
import {
  buildXdsConfig,
  outcomeOf,
  type BuildInput,
  type BuildResult,
  type BuildTrail,
} from './build-xds-config';
import type { Changes } from './change-log';

/**
 * What `buildXdsConfig` would come to, given what has changed since it, or this, came to `last`. Pure. As long
 * as the walk would take the same way only the clusters concerned are built.
 */
export function nextBuild(
  last: BuildResult | undefined,
  changes: Changes,
  input: BuildInput,
): BuildResult {
  if (last?.trail === undefined || changes.beyondClusters) return buildXdsConfig(input);
  const results = rebuildClusters(last.trail, changes, input);
  if (results === undefined) return buildXdsConfig(input);
  if (results.size === 0) return last;
  const trail = { ...last.trail, results: last.trail.results.with(results) };
  return { ...last, outcome: nextOutcome(last, trail, input), trail };
}

/** @returns the clusters that came to something else; `undefined` if the walk would take another way. */
function rebuildClusters(
  trail: BuildTrail,
  changes: Changes,
  { observed, clientNote, previous: config }: BuildInput,
): ReadonlyMap<string, ClusterResult> | undefined {
  const changed = new Map<string, ClusterResult>();
  const { routes, results } = trail;
  const previous = (name: string) => results.get(name) ?? config?.clusters.get(name);
  const context = { observed, clientNote, ambient: routes.ambient, previous };
  for (const name of concernedBy(changes, trail)) {
    const before = trail.sources.get(name);
    // Watched for the config that is still in use, but not on this way.
    if (before === undefined) continue;
    const { source, result } = buildCluster(name, context);
    if (!leadsToSame(before, source)) return undefined;
    if (result === results.get(name)) continue;
    if (result === undefined) return undefined;
    changed.set(name, result);
  }
  return changed;
}

function concernedBy(changes: Changes, { users }: BuildTrail): ReadonlySet<string> {
  const names = new Set(changes.clusters);
  for (const kind of ['endpoints', 'dns'] as const) {
    for (const key of changes[kind]) {
      for (const name of users[kind].get(key) ?? []) names.add(name);
    }
  }
  return names;
}

function nextOutcome(
  { outcome }: BuildResult,
  trail: BuildTrail,
  { previous }: BuildInput,
): BuildResult['outcome'] {
  // Something did change, so there is no need to go through all clusters to find out whether the config is new.
  if (outcome.kind === 'config' && outcome.config === previous) {
    return { kind: 'config', config: { ...previous, clusters: trail.results } };
  }
  return outcomeOf(trail, previous);
}
