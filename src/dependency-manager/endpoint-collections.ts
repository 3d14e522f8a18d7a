import type {
  EndpointCollection,
  EndpointsResource,
  LocalityEndpoints,
} from '../resources/endpoints/endpoints';
import {
  EndpointReuse,
  PreviousEndpoints,
  shareLocality,
} from '../resources/endpoints/endpoint-reuse';
import { createHandle } from '../util/handle';
import { ok, type Result } from '../util/result';
import type { ResourceType } from '../xds-client/resource-type';
import type { ResourceSource, ResourceWatcher, WatchError } from '../xds-client/resource-watcher';
import type { WatchReport } from './observations';
import { WatchSet, type WatchResource } from './watch-set';

/**
 * Watches assignments together with the collections of their localities (gRFC A95): a watcher is notified of an
 * assignment when it is complete, and again when any part changes.
 */
export function watchWithCollections(
  source: Pick<ResourceSource, 'watch'>,
  endpoints: ResourceType<EndpointsResource>,
  collections: ResourceType<EndpointCollection>,
): WatchResource<EndpointsResource> {
  return (name, watcher) => {
    const collected = new CollectedEndpoints(watcher, (collection, watcherOf) =>
      source.watch(collections, collection, watcherOf),
    );
    const handle = source.watch(endpoints, name, collected);
    return createHandle(() => {
      handle.release();
      collected.close();
    });
  };
}

const none: ReadonlySet<string> = new Set();

class CollectedEndpoints implements ResourceWatcher<EndpointsResource> {
  private readonly collections: WatchSet<string, EndpointCollection>;
  private assignment: EndpointsResource | undefined;
  private ambient: WatchError | undefined;
  /** The last notification of the watcher. */
  private notified:
    { readonly value: EndpointsResource; ambient: WatchError | undefined } | undefined;

  constructor(
    private readonly watcher: ResourceWatcher<EndpointsResource>,
    watch: WatchResource<EndpointCollection>,
  ) {
    this.collections = new WatchSet(watch, () => this.update());
  }

  onResourceChanged(update: Result<EndpointsResource, WatchError>): void {
    this.ambient = undefined;
    if (update.ok) {
      this.assignment = update.value;
      this.collections.reconcile(collectionsOf(update.value));
      this.update();
      return;
    }
    this.assignment = undefined;
    this.notified = undefined;
    this.collections.reconcile(none);
    this.watcher.onResourceChanged(update);
  }

  onAmbientError(error: WatchError | undefined): void {
    this.ambient = error;
    this.update();
  }

  close(): void {
    this.collections.clear();
  }

  private update(): void {
    const { assignment, collections } = this;
    if (assignment === undefined) return;
    const names = collectionsOf(assignment);
    for (const name of names) if (collections.get(name)?.kind === 'waiting') return;
    const observed = (name: string) => collections.get(name);
    const value = withCollections(assignment, observed, this.notified?.value);
    if (value !== this.notified?.value) {
      this.notified = { value, ambient: undefined };
      this.watcher.onResourceChanged(ok(value));
    }
    const ambient = this.ambient ?? collectionError(names, observed);
    if (ambient?.message === this.notified.ambient?.message) return;
    this.notified.ambient = ambient;
    this.watcher.onAmbientError(ambient);
  }
}

/** Returns the last report of a collection. */
type ObservedCollection = (name: string) => WatchReport<EndpointCollection> | undefined;

/** Returns an assignment with endpoints in all its localities; the last one itself if nothing changed. Pure. */
export function withCollections(
  assignment: EndpointsResource,
  observed: ObservedCollection,
  last: EndpointsResource | undefined,
): EndpointsResource {
  if (collectionsOf(assignment).size === 0) return assignment;
  const previous = new PreviousEndpoints(last);
  const priorities = assignment.priorities.map(({ localities }, priority) => ({
    localities: localities.map((entry) => {
      const before = previous.find(priority, entry.locality);
      return entry.collection === undefined
        ? entry
        : fill(entry, observed(entry.collection), before);
    }),
  }));
  return previous.share({ ...assignment, priorities });
}

/** A collection with an error has no endpoints: the locality is unreachable. */
function fill(
  entry: LocalityEndpoints,
  observed: WatchReport<EndpointCollection> | undefined,
  before: LocalityEndpoints | undefined,
): LocalityEndpoints {
  const found = observed?.kind === 'value' ? observed.value.endpoints : [];
  const reuse = new EndpointReuse(before?.endpoints ?? []);
  const endpoints = found.map((endpoint) => reuse.share(endpoint));
  return shareLocality(before, { ...entry, endpoints });
}

/** Returns what is wrong with the first of the collections with an error; `undefined` if there is none. */
export function collectionError(
  names: ReadonlySet<string>,
  observedOf: ObservedCollection,
): WatchError | undefined {
  for (const name of names) {
    const observed = observedOf(name);
    if (observed?.kind === 'error') return observed.error;
    if (observed?.kind === 'value' && observed.ambient !== undefined) return observed.ambient;
  }
  return undefined;
}

/** Returns the names of the collections that an assignment refers to. */
export function collectionsOf({ priorities }: EndpointsResource): ReadonlySet<string> {
  let names: Set<string> | undefined;
  for (const { localities } of priorities) {
    for (const { collection } of localities) {
      if (collection !== undefined) (names ??= new Set()).add(collection);
    }
  }
  return names ?? none;
}
