import type { Bootstrap } from '../bootstrap/bootstrap';
import type { OpaqueResource } from '../resources/opaque-type';
import type { Handle } from '../util/handle';
import { ok } from '../util/result';
import type { ResourceName } from '../xds-client/resource-name';
import type { ResourceType } from '../xds-client/resource-type';
import type { SavedFinder, SavedSource } from '../xds-client/saved-snapshot/saved-start';
import type { SavedResource, SavedValue } from '../xds-client/saved-snapshot/snapshot-file';

/** A resource that a client has accepted. */
export interface InheritedResource extends SavedResource {
  /** Milliseconds since the epoch. */
  readonly updatedAtMs: number;
}

/**
 * The resources that a relay starts from: those that a client of its process had from the relay before it, and where that has
 * none, those of the saved snapshot.
 */
export class InheritedResources implements SavedSource {
  readonly description = 'resources of the relay before (stale)';
  private readonly byKey = new Map<string, InheritedResource>();

  /** @param file The saved snapshot; `undefined` if there is none. */
  constructor(
    resources: Iterable<InheritedResource>,
    private readonly bootstrap: Bootstrap,
    private readonly file: SavedSource | undefined,
  ) {
    for (const each of resources) this.byKey.set(`${each.typeUrl} ${each.name}`, each);
  }

  acquire(): Handle & { readonly value: SavedFinder } {
    const file = this.file?.acquire();
    const value: SavedFinder = {
      find: (type, name) => this.find(type, name) ?? file?.value.find(type, name) ?? ok(undefined),
    };
    return { value, release: () => file?.release() };
  }

  private find({ typeUrl }: ResourceType<unknown>, { authority, canonical }: ResourceName) {
    const resource = this.byKey.get(`${typeUrl} ${canonical}`);
    const named = authority === undefined ? undefined : this.bootstrap.authorities.get(authority);
    const [server] = (named ?? this.bootstrap).servers;
    if (resource === undefined || server === undefined) return undefined;
    const { bytes, version, updatedAtMs } = resource;
    const value: OpaqueResource = { bytes, server };
    return ok<SavedValue>({ value, bytes, version, updatedAtMs });
  }
}
