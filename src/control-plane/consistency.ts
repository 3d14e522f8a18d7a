import { formatJsonProblem, type PathSegment } from '../proto-json/json-problem';
import { findReferences } from './references';
import { resourceKinds } from './resource-kind';
import type { SnapshotResource } from './resource-set';
import type { Snapshot } from './snapshot';

/** A resource that refers to one the snapshot does not hold, or cannot be decoded to tell. */
export interface Inconsistency {
  readonly resource: SnapshotResource;
  /** The field that refers. */
  readonly path: readonly PathSegment[];
  readonly reason: string;
}

/**
 * Finds what a client would wait for in vain: every route configuration a listener names, cluster a
 * route or an aggregate cluster names, and endpoint assignment a cluster names must be in the same
 * snapshot. Resources nobody refers to are fine, and so are `xdstp` names of another authority, which
 * may live on another server (A47).
 *
 * @returns one line per problem, with the resource and the field; empty when all is well.
 */
export function checkConsistency(snapshot: Snapshot): readonly string[] {
  return findInconsistencies(snapshot).map(formatInconsistency);
}

/** As `checkConsistency`, for those who know where the resources came from. */
export function findInconsistencies(snapshot: Snapshot): readonly Inconsistency[] {
  const found: Inconsistency[] = [];
  for (const kind of resourceKinds) {
    for (const resource of snapshot.set(kind).byName.values()) {
      const references = findReferences(resource);
      if (!references.ok) {
        found.push({ resource, path: [], reason: `cannot be decoded: ${references.error}` });
        continue;
      }
      for (const { path, kind: target, name } of references.value) {
        // A client that gets an error does not wait.
        const { byName, errors } = snapshot.set(target);
        if (byName.has(name) || errors.has(name) || isElsewhere(resource.name, name)) continue;
        const reason = `there is no ${target.label} ${JSON.stringify(name)}`;
        found.push({ resource, path, reason });
      }
    }
  }
  return found;
}

/** `cluster "echo": eds_cluster_config.service_name: …` */
export function formatInconsistency(inconsistency: Inconsistency): string {
  const { kind, name } = inconsistency.resource;
  return `${kind.label} ${JSON.stringify(name)}: ${formatJsonProblem(inconsistency)}`;
}

function isElsewhere(from: string, to: string): boolean {
  const authority = authorityOf(to);
  return authority !== undefined && authority !== authorityOf(from);
}

function authorityOf(name: string): string | undefined {
  return /^xdstp:\/\/([^/]*)\//.exec(name)?.[1];
}

/** Thrown when a snapshot refers to resources it does not hold. The message lists every problem. */
export class ConsistencyError extends Error {
  override readonly name = 'ConsistencyError';

  constructor(
    /** What `checkConsistency` found. */
    readonly problems: readonly string[],
  ) {
    super(`the snapshot is not consistent:\n${problems.join('\n')}`);
  }
}
