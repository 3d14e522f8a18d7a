import type {
  ClientSnapshot,
  KeptValue,
  ResourceChange,
  ResourceHistory,
  ResourceSnapshot,
} from '../../xds-client/client-snapshot';

/**
 * Returns what each change has led to: the value that was accepted, or the one that was rejected. None for the others, and
 * where it is not known.
 */
export function valuesAfter({
  changes,
  resources,
}: Pick<ClientSnapshot, 'changes' | 'resources'>): ReadonlyMap<ResourceChange, KeptValue> {
  const values = new Map<ResourceChange, KeptValue>();
  /** What the value of each resource at each server became later. */
  const replaced = new Map<string, KeptValue | undefined>();
  const present = new Map(resources.map((each) => [keyOf(each), each.accepted]));
  for (const change of changes.toReversed()) {
    const key = keyOf(change);
    const atServer = JSON.stringify([key, change.serverUri]);
    const isReplaced = replaced.has(atServer);
    const later = isReplaced ? replaced.get(atServer) : present.get(key);
    const value = change.kind === 'accepted' ? later : change.rejected;
    if (value !== undefined) values.set(change, value);
    replaced.set(atServer, change.before);
    // The value in use is that of one server.
    if (change.kind === 'accepted' && !isReplaced) present.delete(key);
  }
  return values;
}

/** A resource at an earlier time. */
export interface PastResource {
  readonly typeUrl: string;
  readonly name: string;
  /** `undefined` if it is not kept. */
  readonly value: Uint8Array | undefined;
}

/** The resources of an earlier time. */
interface PastInput {
  readonly history: ResourceHistory;
  /** Those in use now. */
  readonly resources: readonly ResourceSnapshot[];
  /** Whether a change had happened then. */
  readonly hadHappened: (change: ResourceChange) => boolean;
  /** That time, in milliseconds since the epoch. */
  readonly atMs: number;
}

/** Returns the resources that were in use at an earlier time, those of all targets that share their servers. */
export function resourcesAt(input: PastInput): readonly PastResource[] {
  const { history, resources, hadHappened, atMs } = input;
  /** What was in use then at each server, of each resource that has changed since. */
  const replaced = new Map<string, Map<string, ResourceChange>>();
  for (const change of history.changes) {
    if (hadHappened(change)) continue;
    const key = keyOf(change);
    const byServer = replaced.get(key) ?? new Map<string, ResourceChange>();
    replaced.set(key, byServer);
    if (!byServer.has(change.serverUri)) byServer.set(change.serverUri, change);
  }
  const past: PastResource[] = [];
  for (const changes of replaced.values()) {
    const found = [...changes.values()].find(({ before }) => before !== undefined);
    if (found?.before === undefined) continue;
    past.push({ typeUrl: found.typeUrl, name: found.name, value: found.before.bytes });
  }
  const known = new Set(past.map(keyOf));
  for (const resource of resources) {
    const { typeUrl, name, accepted } = resource;
    const key = keyOf(resource);
    // With another server, a value may be older than a change at the one before.
    const isOld = !replaced.has(key) || (accepted !== undefined && accepted.updatedAtMs <= atMs);
    if (accepted === undefined || known.has(key) || !isOld) continue;
    past.push({ typeUrl, name, value: accepted.bytes });
  }
  return past;
}

function keyOf({ typeUrl, name }: { readonly typeUrl: string; readonly name: string }): string {
  return `${typeUrl} ${name}`;
}
