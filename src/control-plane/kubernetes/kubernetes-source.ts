import { isDeepStrictEqual } from 'node:util';
import { createHandle, type Handle } from '../../util/handle';
import type { ResourceView, ServedResources } from '../ads/resource-view';
import type { ClientNode } from '../client-state';
import { resourceKinds } from '../resource';
import type { ClusterObjects, ObjectChange, ObjectKey } from './cluster-objects';
import { DEFAULT_CLUSTER_DOMAIN } from './names';
import { audienceOf, type Audience } from './translate/audience';
import type { PolicyProblem, ServicePolicy } from './translate/service-policy';
import { translateService } from './translate/translated-service';
import { VariedResource } from './varied-resource';
import { Moment, type VariedChanges } from './moment';

/** The options of `KubernetesSource`. */
export interface KubernetesSourceOptions {
  /** The objects, which are read when a change of them is applied. */
  readonly objects: ClusterObjects;
  /** The domain of the cluster. Default: `cluster.local`. */
  readonly domain?: string | undefined;
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
  readonly backends: ReadonlySet<ObjectKey>;
}

const UNKNOWN: KnownService = {
  uid: undefined,
  names: [],
  policy: undefined,
  problems: [],
  backends: new Set(),
};

/**
 * The resources of the services of a Kubernetes cluster. A change translates the services it concerns, and a resource is encoded
 * when a client first receives it. Resources and their versions depend on the objects only: each replica has the same, but for a Service
 * with a wrong annotation, whose last right value stays in use.
 */
export class KubernetesSource implements ResourceView {
  /** Resources are valid until they change. */
  readonly shortestTtlMs = undefined;
  private readonly services = new Map<ObjectKey, KnownService>();
  /** The services whose routes send calls to a service, by its key. */
  private readonly parents = new Map<ObjectKey, Set<ObjectKey>>();
  private readonly watchers = new Set<() => void>();
  private readonly domain: string;
  private current = Moment.create();

  constructor(private readonly options: KubernetesSourceOptions) {
    this.domain = options.domain ?? DEFAULT_CLUSTER_DOMAIN;
  }

  /**
   * Applies a change of the objects, and then calls the watchers if a client may receive something else. Until the first change, which has
   * all there is, names are pending.
   */
  apply({ services }: Pick<ObjectChange, 'services'>): void {
    const changes: VariedChanges = new Map(resourceKinds.map((kind) => [kind.typeUrl, new Map()]));
    const keys = new Set(services);
    for (const key of keys) {
      for (const backend of this.translate(key, changes)) {
        // Also if it was translated already: another namespace sees it now.
        keys.delete(backend);
        keys.add(backend);
      }
    }
    const next = this.current.with(changes, this.options.objects.nodes);
    if (next === this.current) return;
    this.current = next;
    for (const onChanged of [...this.watchers]) onChanged();
  }

  watch(onChanged: () => void): Handle {
    this.watchers.add(onChanged);
    return createHandle(() => this.watchers.delete(onChanged));
  }

  /** Returns the resources of a client, as far as its node says where it is. */
  resourcesFor(node: ClientNode): ServedResources {
    return this.resourcesOf(audienceOf(node, this.options.objects.nodes));
  }

  /** Returns the resources of an audience, such as one that sees the services of some namespaces only. */
  resourcesOf(audience: Audience): ServedResources {
    return this.current.resourcesFor(audience, this.options.objects.nodes);
  }

  /** Returns what of a Service is not applied. */
  problemsOf(service: ObjectKey): readonly PolicyProblem[] {
    return this.services.get(service)?.problems ?? [];
  }

  /** @returns the services whose endpoints are seen from other namespaces now. */
  private translate(key: ObjectKey, changes: VariedChanges): readonly ObjectKey[] {
    const { objects, onProblems } = this.options;
    const known = this.services.get(key) ?? UNKNOWN;
    const uid = objects.services.get(key)?.meta.uid;
    const { plans, policy, problems, backends } = translateService(objects, {
      ...{ key, namespaces: this.namespacesOf(key), domain: this.domain },
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

  /** Returns the namespaces of a service and of those that send calls to it. */
  private namespacesOf(key: ObjectKey): readonly string[] {
    const own = namespaceIn(key);
    const others = new Set(Array.from(this.parents.get(key) ?? [], namespaceIn));
    others.delete(own);
    return [own, ...[...others].sort()];
  }

  /** @returns the services that a parent sends calls to now and did not before, or the other way round. */
  private moveParent(
    parent: ObjectKey,
    from: ReadonlySet<ObjectKey>,
    to: ReadonlySet<ObjectKey>,
  ): readonly ObjectKey[] {
    const removed = [...from].filter((key) => !to.has(key));
    const added = [...to].filter((key) => !from.has(key));
    for (const key of removed) {
      const parents = this.parents.get(key);
      parents?.delete(parent);
      if (parents?.size === 0) this.parents.delete(key);
    }
    for (const key of added) {
      this.parents.set(key, (this.parents.get(key) ?? new Set()).add(parent));
    }
    return [...removed, ...added];
  }
}

function namespaceIn(key: ObjectKey): string {
  return key.slice(0, key.indexOf('/'));
}
