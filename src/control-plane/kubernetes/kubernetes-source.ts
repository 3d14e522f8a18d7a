import { isDeepStrictEqual } from 'node:util';
import { createHandle, type Handle } from '../../util/handle';
import type { ResourceView, ServedResources } from '../ads/resource-view';
import type { ClientNode } from '../client-state';
import { resourceKinds } from '../resource';
import type { ClusterObjects, ObjectChange, ObjectKey } from './cluster-objects';
import { DEFAULT_CLUSTER_DOMAIN } from './names';
import { audienceOf, type Audience } from './translate/audience';
import type { PolicyProblem } from './translate/service-policy';
import { translateService, type TranslatedService } from './translate/translated-service';
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

const UNKNOWN: TranslatedService = { plans: [], problems: [], routes: [] };

/**
 * The resources of the services of a Kubernetes cluster. A change translates the services it concerns, and a resource is encoded
 * when a client first receives it. Resources and their versions depend on the objects only: each replica has the same.
 */
export class KubernetesSource implements ResourceView {
  /** Resources are valid until they change. */
  readonly shortestTtlMs = undefined;
  /** As they were last translated. */
  private readonly services = new Map<ObjectKey, TranslatedService>();
  /** The services that have a route as one of theirs, by the key of the route. */
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
  apply({ services, routes }: ObjectChange): void {
    const keys = new Set(services);
    for (const route of routes) for (const key of this.parents.get(route) ?? []) keys.add(key);
    const changes: VariedChanges = new Map(resourceKinds.map((kind) => [kind.typeUrl, new Map()]));
    for (const key of keys) this.translate(key, changes);
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

  private translate(key: ObjectKey, changes: VariedChanges): void {
    const { objects, onProblems } = this.options;
    const known = this.services.get(key) ?? UNKNOWN;
    const translated = translateService(objects, key, this.domain);
    for (const { kind, name } of known.plans) changes.get(kind.typeUrl)?.set(name, undefined);
    for (const plan of translated.plans) {
      const { typeUrl } = plan.kind;
      const before = this.current.find(typeUrl, plan.name);
      changes.get(typeUrl)?.set(plan.name, before?.with(plan) ?? new VariedResource(plan));
    }
    this.moveParent(key, known.routes, translated.routes);
    if (objects.services.has(key)) this.services.set(key, translated);
    else this.services.delete(key);
    if (!isDeepStrictEqual(known.problems, translated.problems)) {
      onProblems?.(key, translated.problems);
    }
  }

  private moveParent(
    service: ObjectKey,
    from: readonly ObjectKey[],
    to: readonly ObjectKey[],
  ): void {
    for (const route of from) {
      const parents = this.parents.get(route);
      parents?.delete(service);
      if (parents?.size === 0) this.parents.delete(route);
    }
    for (const route of to) {
      const parents = this.parents.get(route) ?? new Set();
      this.parents.set(route, parents.add(service));
    }
  }
}
