import type { ResourceChange } from '../../xds-client/client-snapshot';
import type { Contents } from './contents';
import type { ChangeReport } from './inspect-report';
import { shortName, toIso } from './report-texts';

/** Describes changes, with how the values differ if contents are included. */
export function describeChanges(
  changes: readonly ResourceChange[],
  contents: Contents | undefined,
): readonly ChangeReport[] {
  const before = contents && previousValues(changes);
  return changes.map((change): ChangeReport => {
    const { atMs, serverUri, typeUrl, name, kind, version, text, bytes } = change;
    const previous = before?.get(change);
    const diff = bytes && previous && contents?.diff(typeUrl, previous, bytes);
    return {
      ...{ at: toIso(atMs), serverUri, type: shortName(typeUrl), name, kind, version, text },
      ...(diff && { diff }),
    };
  });
}

/** Returns the value that was accepted before each change, from the same server, as far as it is known. */
export function previousValues(
  changes: readonly ResourceChange[],
): ReadonlyMap<ResourceChange, Uint8Array> {
  const previous = new Map<ResourceChange, Uint8Array>();
  const accepted = new Map<string, Uint8Array>();
  for (const change of changes) {
    const key = JSON.stringify([change.typeUrl, change.name, change.serverUri]);
    const value = accepted.get(key);
    if (value !== undefined) previous.set(change, value);
    if (change.kind === 'rejected') continue;
    if (change.kind === 'accepted' && change.bytes !== undefined) accepted.set(key, change.bytes);
    else accepted.delete(key);
  }
  return previous;
}
