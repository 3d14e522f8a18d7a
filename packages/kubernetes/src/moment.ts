import type { ServedResources, ServedSet } from 'grpc-xds/control-plane';
import { resourceKinds } from 'grpc-xds/internal';
import type { NodeObject } from './objects';
import type { VariedResource } from './varied-resource';
import { MAX_AUDIENCES, VariedSet, type KnownAudience } from './varied-set';

/** What resources have become, by type URL and name. */
export type VariedChanges = ReadonlyMap<string, Map<string, VariedResource | undefined>>;

type Nodes = ReadonlyMap<string, NodeObject>;

/** The resources of all audiences at one moment. */
export class Moment {
  /** Before the objects are known: each name may have a resource. */
  static create(): Moment {
    const sets = resourceKinds.map(({ typeUrl }) => [typeUrl, VariedSet.unknown()] as const);
    return new Moment(new Map(sets), false);
  }

  private readonly served = new Map<string, AudienceMoment>();
  /** The zones of the nodes of clients. */
  private readonly zones = new Map<string, string | undefined>();

  private constructor(
    private readonly sets: ReadonlyMap<string, VariedSet>,
    /** Whether the objects are known. */
    readonly isComplete: boolean,
  ) {}

  /** Returns the resources after a change; this if clients receive the same. */
  with(changes: VariedChanges, nodes: Nodes): Moment {
    const sets = new Map(
      Array.from(this.sets, ([typeUrl, set]) => [
        typeUrl,
        set.with(changes.get(typeUrl) ?? new Map()),
      ]),
    );
    const isSame = [...sets].every(([typeUrl, set]) => set === this.sets.get(typeUrl));
    return isSame && !this.hasMoved(nodes) ? this : new Moment(sets, true);
  }

  find(typeUrl: string, name: string): VariedResource | undefined {
    return this.sets.get(typeUrl)?.byName.get(name);
  }

  /** Returns the resources of an audience, whose zone may be that of its node. */
  resourcesFor(audience: KnownAudience, nodes: Nodes): ServedResources {
    const found = this.served.get(audience.key);
    if (found !== undefined) return found;
    if (this.served.size >= MAX_AUDIENCES) {
      this.served.clear();
      this.zones.clear();
    }
    const { nodeName } = audience;
    if (nodeName !== undefined && !this.zones.has(nodeName)) {
      this.zones.set(nodeName, nodes.get(nodeName)?.zone);
    }
    const served = new AudienceMoment(this.sets, audience, this.isComplete);
    this.served.set(audience.key, served);
    return served;
  }

  private hasMoved(nodes: Nodes): boolean {
    for (const [name, zone] of this.zones) if (nodes.get(name)?.zone !== zone) return true;
    return false;
  }
}

/** What an audience receives. */
class AudienceMoment implements ServedResources {
  constructor(
    private readonly sets: ReadonlyMap<string, VariedSet>,
    private readonly audience: KnownAudience,
    private readonly isComplete: boolean,
  ) {}

  set(typeUrl: string): ServedSet | undefined {
    return this.sets.get(typeUrl)?.for(this.audience);
  }

  isPending(): boolean {
    return !this.isComplete;
  }
}
