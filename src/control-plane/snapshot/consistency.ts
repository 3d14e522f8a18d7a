import { formatJsonProblem, type PathSegment } from '../../wire/proto-json/json-problem';
import { resourceKinds, type SnapshotResource } from '../resource';
import { referencesOf } from './encoded-resource';
import { SNAPSHOT, type Snapshot } from './snapshot';
import { checkArgument } from '../../util/check-arguments';
import { joinLines } from '../../util/text';
import { XdsError } from '../../util/xds-error';

/** A resource that refers to a resource the snapshot does not hold, or that cannot be decoded. */
export interface Inconsistency {
  readonly resource: SnapshotResource;
  /** The field that holds the reference. */
  readonly path: readonly PathSegment[];
  readonly reason: string;
}

/**
 * Reports references to resources that are not in the snapshot: of listeners to route configurations, of routes and
 * aggregate clusters to clusters, and of clusters to endpoint assignments. Resources without references to them are
 * consistent, and so are references to `xdstp` names of another authority, which another server may serve (gRFC A47).
 *
 * @returns one line per problem, with the resource and the field; empty if the snapshot is consistent.
 */
export function checkConsistency(snapshot: Snapshot): readonly string[] {
  checkArgument('checkConsistency()', 'snapshot', snapshot, SNAPSHOT);
  return findInconsistencies(snapshot).map(formatInconsistency);
}

/** Returns the problems of `checkConsistency` with their resources. */
export function findInconsistencies(snapshot: Snapshot): readonly Inconsistency[] {
  const found: Inconsistency[] = [];
  for (const kind of resourceKinds) {
    for (const resource of snapshot.set(kind).byName.values()) {
      const references = referencesOf(resource);
      if (!references.ok) {
        found.push({ resource, path: [], reason: `cannot be decoded: ${references.error}` });
        continue;
      }
      for (const { path, kind: target, name } of references.value) {
        // The client receives the error, so the reference is resolved.
        const { byName, errors } = snapshot.set(target);
        if (byName.has(name) || errors.has(name) || hasOtherAuthority(resource.name, name))
          continue;
        const reason = `${target.label} ${JSON.stringify(name)} is not in the snapshot`;
        found.push({ resource, path, reason });
      }
    }
  }
  return found;
}

/** Formats a problem as `cluster "echo": eds_cluster_config.service_name: …`. */
export function formatInconsistency(inconsistency: Inconsistency): string {
  const { kind, name } = inconsistency.resource;
  return `${kind.label} ${JSON.stringify(name)}: ${formatJsonProblem(inconsistency)}`;
}

function hasOtherAuthority(from: string, to: string): boolean {
  const authority = authorityOf(to);
  return authority !== undefined && authority !== authorityOf(from);
}

function authorityOf(name: string): string | undefined {
  return /^xdstp:\/\/([^/]*)\//.exec(name)?.[1];
}

/** Thrown for a snapshot with references to missing resources. The message lists every problem. */
export class ConsistencyError extends XdsError {
  override readonly name = 'ConsistencyError';
  /** The result of `checkConsistency`. */
  readonly problems: readonly string[];

  /** @internal */
  constructor(problems: readonly string[]) {
    super('XDS_SNAPSHOT_INCONSISTENT', joinLines(['the snapshot is not consistent:', ...problems]));
    this.problems = problems;
  }
}
