import type { ServedResources } from '../ads/resource-view';
import { resourceKinds, type ServedSet } from '../resource';
import type { NodeObject } from './objects';
import { audienceKey, type Audience } from './translate/audience';
import type { VariedResource } from './varied-resource';
import { AudienceSet, toKnown, VariedSet, type KnownAudience } from './varied-set';

/** What resources have become, by type URL and name. */
export type VariedChanges = ReadonlyMap<string, Map<string, VariedResource | undefined>>;

type Nodes = ReadonlyMap<string, NodeObject>;

/** Clients may say anything of where they are; beyond this number their resources are put together again. */
const MAX_AUDIENCES = 10_000;

/** The resources of all audiences at one moment. */
export class Moment {
  /** Before the objects are known: each name may have a resource. */
  static create(): Moment {
    const sets = resourceKinds.map(({ typeUrl }) => [typeUrl, VariedSet.empty] as const);
    return new Moment(new Map(sets), false, new Map());
  }

  private readonly served = new Map<string, AudienceMoment>();
  /** The zones of the nodes of clients. */
  private readonly zones = new Map<string, string | undefined>();

  private constructor(
    private readonly sets: ReadonlyMap<string, VariedSet>,
    private readonly isComplete: boolean,
    /** By key; those of the moments before as well. */
    private readonly audiences: Map<string, KnownAudience>,
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
    const isKept = isSame && this.isComplete && !this.hasMoved(nodes);
    return isKept ? this : new Moment(sets, true, this.audiences);
  }

  find(typeUrl: string, name: string): VariedResource | undefined {
    return this.sets.get(typeUrl)?.byName.get(name);
  }

  /** Returns the resources of an audience, whose zone may be that of its node. */
  resourcesFor(audience: Audience, nodes: Nodes): ServedResources {
    const { nodeName } = audience;
    if (nodeName !== undefined) this.zones.set(nodeName, nodes.get(nodeName)?.zone);
    const key = audienceKey(audience);
    const found = this.served.get(key);
    if (found !== undefined) return found;
    if (this.audiences.size >= MAX_AUDIENCES) this.forget();
    const known = this.audiences.get(key) ?? toKnown(audience, key);
    this.audiences.set(key, known);
    const served = new AudienceMoment(this.sets, known, this.isComplete);
    this.served.set(key, served);
    return served;
  }

  private forget(): void {
    this.audiences.clear();
    this.served.clear();
    this.zones.clear();
  }

  private hasMoved(nodes: Nodes): boolean {
    for (const [name, zone] of this.zones) if (nodes.get(name)?.zone !== zone) return true;
    return false;
  }
}

/** What an audience receives. */
class AudienceMoment implements ServedResources {
  private readonly sets: ReadonlyMap<string, ServedSet>;

  constructor(
    sets: ReadonlyMap<string, VariedSet>,
    audience: KnownAudience,
    private readonly isComplete: boolean,
  ) {
    this.sets = new Map(
      Array.from(sets, ([typeUrl, set]) => [typeUrl, new AudienceSet(set, audience, isComplete)]),
    );
  }

  set(typeUrl: string): ServedSet | undefined {
    return this.sets.get(typeUrl);
  }

  isPending(): boolean {
    return !this.isComplete;
  }
}
