import { isDeepStrictEqual } from 'node:util';
import type { Closable } from '../../../src/util/handle';
import type { Steps } from '../../../src/util/time-slices';
import { runSteps } from './steps';
import type { TimeSlices } from '../../../src/util/time-slices';
import type { ResourceView, ServedResources, ClientNode } from 'grpc-xds/control-plane';
import { resourceKinds } from 'grpc-xds/internal';
import type { ClusterObjects, ObjectChange, ObjectKey } from './cluster-objects';
import { DEFAULT_CLUSTER_DOMAIN } from './names';
import { namespaceIn } from './object-key';
import { audienceOf, type Audience } from './translate/audience';
import type { PolicyProblem, ServicePolicy } from './translate/service-policy';
import { translateService, type Backends } from './translate/translated-service';
import { VariedResource } from './varied-resource';
import { Moment, type VariedChanges } from './moment';
import { toKnown, type KnownAudience } from './varied-set';

/** The options of `KubernetesSource`. */
export interface KubernetesSourceOptions {
  /** The objects, which are read when a change of them is applied. */
  readonly objects: ClusterObjects;
  /** The domain of the cluster. Default: `cluster.local`. */
  readonly domain?: string | undefined;
  /** With them, services are translated in steps, between which other work is done. Default: at once. */
  readonly timeSlices?: TimeSlices | undefined;
  /** Called when the problems of a Service have changed; with an empty list when it has none any more. */
  readonly onProblems?: (service: ObjectKey, problems: readonly PolicyProblem[]) => void;
}

/** What is remembered of a service since it was last translated. */
interface KnownService {
  /** Differs if the Service was deleted and created again. */
  readonly uid: string | undefined;
  /** Of its resources. */
  readonly names: readonly { readonly typeUrl: string; readonly name: string }[];
  readonly policy: ServicePolicy | undefined;
  readonly problems: readonly PolicyProblem[];
  readonly backends: Backends;
}

const UNKNOWN: KnownService = {
  uid: undefined,
  names: [],
  policy: undefined,
  problems: [],
  backends: new Map(),
};

/** The audience of a client, with the zone that its Node had then. */
interface PlacedAudience {
  readonly audience: KnownAudience;
  readonly nodeZone: string | undefined;
}

/**
 * The resources of the services of a Kubernetes cluster. A change translates the services it concerns, and a resource is encoded
 * when a client first receives it. Resources and their versions depend on the objects only: each replica has the same, but for a Service
 * with a wrong annotation, whose last right value stays in use.
 */
export class KubernetesSource implements ResourceView {
  /** Resources are valid until they change. */
  readonly shortestTtlMs = undefined;
  private readonly services = new Map<ObjectKey, KnownService>();
  /** The services whose routes send calls to a service, by its key, each with the namespaces of the callers. */
  private readonly parents = new Map<ObjectKey, Map<ObjectKey, ReadonlySet<string>>>();
  private readonly watchers = new Set<() => void>();
  private readonly domain: string;
  /** By client: after a change, each stream needs its own. */
  private readonly audiences = new WeakMap<ClientNode, PlacedAudience>();
  private current = Moment.create();
  /** The services to translate. */
  private readonly waiting = new Set<ObjectKey>();
  private isApplying = false;

  constructor(private readonly options: KubernetesSourceOptions) {
    this.domain = options.domain ?? DEFAULT_CLUSTER_DOMAIN;
  }

  /** Whether the first change was applied: a name without a resource has none. */
  get isComplete(): boolean {
    return this.current.isComplete;
  }

  /**
   * Applies a change of the objects, and then calls the watchers if a client may receive something else: before this returns if it
   * is little work. A change in the course of that is applied with it, since one may refer to the other. Until the first
   * change, which has all there is, names are pending.
   */
  apply({ services }: Pick<ObjectChange, 'services'>): void {
    this.wait(services);
    if (this.isApplying) return;
    this.isApplying = true;
    const steps = this.applyWaiting();
    const { timeSlices } = this.options;
    if (timeSlices === undefined) runSteps(steps);
    else timeSlices.start({ batch: { run: (task) => task() }, steps });
  }

  watch(onChanged: () => void): Closable {
    this.watchers.add(onChanged);
    return { close: () => void this.watchers.delete(onChanged) };
  }

  /** Returns the resources of a client, as far as its node says where it is. */
  resourcesFor(node: ClientNode): ServedResources {
    const { nodes } = this.options.objects;
    const found = this.audiences.get(node);
    const zoneOf = (name: string | undefined) =>
      name === undefined ? undefined : nodes.get(name)?.zone;
    if (found !== undefined && found.nodeZone === zoneOf(found.audience.nodeName)) {
      return this.current.resourcesFor(found.audience, nodes);
    }
    const audience = toKnown(audienceOf(node, nodes));
    this.audiences.set(node, { audience, nodeZone: zoneOf(audience.nodeName) });
    return this.current.resourcesFor(audience, nodes);
  }

  /** Returns the resources of an audience, such as one that sees the services of some namespaces only. */
  resourcesOf(audience: Audience): ServedResources {
    return this.current.resourcesFor(toKnown(audience), this.options.objects.nodes);
  }

  /** Returns what of a Service is not applied. */
  problemsOf(service: ObjectKey): readonly PolicyProblem[] {
    return this.services.get(service)?.problems ?? [];
  }

  /** Also those that were translated already: another namespace may see them now. */
  private wait(services: Iterable<ObjectKey>): void {
    for (const key of services) {
      this.waiting.delete(key);
      this.waiting.add(key);
    }
  }

  private *applyWaiting(): Steps<void> {
    try {
      do this.publish(yield* this.translateWaiting());
      while (this.waiting.size > 0);
    } finally {
      this.isApplying = false;
    }
  }

  private *translateWaiting(): Steps<VariedChanges> {
    const changes: VariedChanges = new Map(resourceKinds.map((kind) => [kind.typeUrl, new Map()]));
    for (const key of this.waiting) {
      this.waiting.delete(key);
      this.wait(this.translate(key, changes));
      if (this.waiting.size > 0) yield;
    }
    return changes;
  }

  private publish(changes: VariedChanges): void {
    const next = this.current.with(changes, this.options.objects.nodes);
    if (next === this.current) return;
    this.current = next;
    for (const onChanged of [...this.watchers]) onChanged();
  }

  /** @returns the services whose endpoints are seen from other namespaces now. */
  private translate(key: ObjectKey, changes: VariedChanges): readonly ObjectKey[] {
    const { objects, onProblems } = this.options;
    const known = this.services.get(key) ?? UNKNOWN;
    const uid = objects.services.get(key)?.meta.uid;
    const { plans, policy, problems, backends } = translateService(objects, {
      key,
      namespaces: this.namespacesOf(key),
      domain: this.domain,
      policyBefore: known.uid === uid ? known.policy : undefined,
    });
    for (const { typeUrl, name } of known.names) changes.get(typeUrl)?.set(name, undefined);
    const names = plans.map(({ kind, name }) => ({ typeUrl: kind.typeUrl, name }));
    for (const plan of plans) {
      const { typeUrl } = plan.kind;
      const before = this.current.find(typeUrl, plan.name);
      changes.get(typeUrl)?.set(plan.name, before?.with(plan) ?? new VariedResource(plan));
    }
    if (uid !== undefined) this.services.set(key, { uid, names, policy, problems, backends });
    else this.services.delete(key);
    if (!isDeepStrictEqual(known.problems, problems)) onProblems?.(key, problems);
    return this.moveParent(key, known.backends, backends);
  }

  /** Returns the namespaces of a service and of the callers that routes of other services send to it. */
  private namespacesOf(key: ObjectKey): readonly string[] {
    const own = namespaceIn(key);
    const others = new Set(
      [...(this.parents.get(key)?.values() ?? [])].flatMap((each) => [...each]),
    );
    others.delete(own);
    return [own, ...[...others].sort()];
  }

  /** @returns the services that a parent sends other callers to than before. */
  private moveParent(parent: ObjectKey, from: Backends, to: Backends): readonly ObjectKey[] {
    const keys = new Set([...from.keys(), ...to.keys()]);
    const moved = [...keys].filter((key) => !isDeepStrictEqual(from.get(key), to.get(key)));
    for (const key of moved) {
      const callers = to.get(key);
      const parents = this.parents.get(key) ?? new Map<ObjectKey, ReadonlySet<string>>();
      if (callers === undefined) parents.delete(parent);
      else parents.set(parent, callers);
      if (parents.size === 0) this.parents.delete(key);
      else this.parents.set(key, parents);
    }
    return moved;
  }
}
