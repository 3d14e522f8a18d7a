import type { KubernetesApi } from './api/kubernetes-api';
import { Reflector, type ReflectorListener, type ReflectorState } from './api/reflector';
import { namespaceResource, WATCHED_RESOURCES, type WatchedResource } from './api/watched-kinds';
import type { ObjectKey, ObjectSink } from './cluster-objects';
import { keyOf } from './object-key';
import { NamedNamespaces } from './named-namespaces';
import type { KubernetesObject } from './objects';
import type { WatchedObject } from './read-objects';
import { ObjectFile } from './saved-objects';
import { SelectedNamespaces } from './selected-namespaces';
import type { StoredObjects } from './stored-objects';
import { SAVED_START_MS, WatchReport, type WatchName } from './watch-report';
import type { Clock } from '../../../src/util/clock';
import type { Handle } from '../../../src/util/handle';
import type { Logger } from '../../../src/util/logger';
import type { Random } from '../../../src/util/random';
import type { TimeSlices } from '../../../src/util/time-slices';
import { afterRunning } from '../../../src/util/running-time';

/** The namespaces whose objects are read: all, some by name, or those with labels. */
export type NamespaceChoice =
  | { readonly kind: 'all' }
  | { readonly kind: 'named'; readonly names: readonly string[] }
  | { readonly kind: 'labeled'; readonly selector: string };

export interface ClusterWatchOptions {
  readonly api: KubernetesApi;
  /** Where the objects are stored; it is opened when they are those of the whole cluster. */
  readonly store: StoredObjects;
  readonly namespaces: NamespaceChoice;
  /** Whether the routes of Gateway API are read. */
  readonly hasRoutes: boolean;
  /** A file in which the objects are saved, and read from if the API server is away at the start. Default: none. */
  readonly savedPath?: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly timeSlices: TimeSlices;
}

/** One of the watches of a cluster, for metrics. */
export interface WatchState extends ReflectorState, WatchName {}

/** Keeps the objects of a cluster as they are: one list and watch for each kind, in each namespace that is named. */
export class ClusterWatch {
  private readonly watches: (WatchName & { readonly reflector: Reflector })[] = [];
  /** Those that have not been listed since the start. */
  private readonly unlisted = new Set<WatchName>();
  private readonly report: WatchReport;
  private readonly selected: SelectedNamespaces | undefined;
  private readonly sink: ObjectSink;
  private readonly file: ObjectFile | undefined;
  private readonly named: NamedNamespaces | undefined;
  /** When the saved objects were saved that are served if the cluster is not listed, in ISO 8601. */
  private savedAt: string | undefined;
  private savedStart: Handle | undefined;
  private saving: Handle | undefined;

  constructor(private readonly options: ClusterWatchOptions) {
    const { api, store, clock, logger, timeSlices, namespaces, savedPath: path } = options;
    const isServing = () => store.isOpen;
    const savedAt = () => this.savedAt;
    this.report = new WatchReport({ address: api.address, clock, logger, isServing, savedAt });
    this.selected = namespaces.kind === 'labeled' ? new SelectedNamespaces(store) : undefined;
    this.sink = this.selected ?? store;
    this.named =
      namespaces.kind === 'named'
        ? new NamedNamespaces({
            api,
            clock,
            logger,
            names: namespaces.names,
            isEmpty: (name) => this.hasNoServices(name),
          })
        : undefined;
    const identity = JSON.stringify([api.address, namespaces]);
    this.file =
      path === undefined
        ? undefined
        : new ObjectFile({
            path,
            identity,
            clock,
            logger,
            timeSlices,
            read: () => store.all(),
          });
  }

  /** Whether everything has been listed since the start. Saved objects are served before, if there are any. */
  get isListed(): boolean {
    return this.watches.length > 0 && this.unlisted.size === 0;
  }

  /** Since when a watch does not work that should, in milliseconds of the monotonic clock; undefined if all work. */
  get failingSinceMs(): number | undefined {
    return this.report.failingSinceMs;
  }

  /** What each watch does. */
  read(): readonly WatchState[] {
    return this.watches.map(({ resource, namespace, reflector }) => ({
      resource,
      namespace,
      ...reflector.read(),
    }));
  }

  /** Reads what was saved, and starts to list and watch. May be called once. */
  start(): void {
    const saved = this.loadSaved();
    const known = (resource: WatchedResource, namespace: string | undefined) =>
      saved === undefined ? [] : knownKeys(saved, resource, namespace);
    for (const name of this.watchNames()) {
      const { api, clock, random, timeSlices } = this.options;
      const listener = this.listenerOf(name);
      const reflector = new Reflector({
        ...name,
        api,
        clock,
        random,
        timeSlices,
        listener,
        known: known(name.resource, name.namespace),
      });
      this.watches.push({ ...name, reflector });
      this.unlisted.add(name);
    }
    for (const { reflector } of this.watches) reflector.start();
  }

  /** Ends all watches. @returns a promise that is resolved, never rejected, when what has changed is saved. */
  async stop(): Promise<void> {
    for (const { reflector } of this.watches) reflector.stop();
    this.report.stop();
    this.named?.stop();
    this.savedStart?.release();
    this.saving?.release();
    await this.file?.stop();
  }

  private *watchNames(): IterableIterator<WatchName> {
    const { namespaces, hasRoutes } = this.options;
    if (namespaces.kind === 'labeled') {
      yield { resource: namespaceResource(namespaces.selector), namespace: undefined };
    }
    for (const resource of WATCHED_RESOURCES) {
      if (resource.isOptional && !hasRoutes) continue;
      const isEach = namespaces.kind === 'named' && resource.isNamespaced;
      for (const namespace of isEach ? new Set(namespaces.names) : [undefined]) {
        yield { resource, namespace };
      }
    }
  }

  private loadSaved(): readonly KubernetesObject[] | undefined {
    const { store, clock, logger } = this.options;
    const saved = this.file?.load();
    if (saved === undefined) return undefined;
    // What is not watched would never be deleted: GRPCRoutes of a replica that reads them.
    const kinds = new Set(Array.from(this.watchNames(), ({ resource }) => resource.kind));
    const objects = saved.objects.filter(({ kind }) => kinds.has(kind));
    for (const object of objects) {
      this.selected?.select(object.meta.namespace);
      this.sink.put(object);
    }
    this.savedAt = saved.savedAt;
    const onOver = () => {
      const line = () =>
        `kubernetes: the objects that were saved at ${saved.savedAt} are served until the cluster has been listed`;
      logger.info(line, { event: 'kubernetes-saved-start' });
      store.open();
    };
    this.savedStart = afterRunning(clock, onOver, SAVED_START_MS);
    return objects;
  }

  private listenerOf(name: WatchName): ReflectorListener {
    const { report } = this;
    const { kind } = name.resource;
    return {
      onObject: (object) => {
        report.onReadable(kind, keyOf(object.meta));
        this.put(object);
      },
      onDeleted: (key) => {
        report.onReadable(kind, key);
        if (kind === 'Namespace') this.selected?.unselect(key);
        else this.sink.delete(kind, key);
      },
      onListed: () => this.onListed(name),
      onUnreadable: (problem) => report.onUnreadable(name, problem),
      onFailure: (cause, failure) => report.onFailure(name, cause, failure),
      onWorking: () => {
        report.onWorking(name);
        for (const { reflector } of this.watches) reflector.retry();
      },
    };
  }

  private hasNoServices(name: string): boolean {
    return this.watches.some(
      ({ resource, namespace, reflector }) =>
        resource.kind === 'Service' && namespace === name && reflector.read().objectCount === 0,
    );
  }

  private put(object: WatchedObject): void {
    if (object.kind === 'Namespace') this.selected?.select(object.meta.name);
    else this.sink.put(object);
  }

  private onListed(name: WatchName): void {
    if (!this.unlisted.delete(name) || this.unlisted.size > 0) return;
    const { store } = this.options;
    this.savedStart?.release();
    store.open();
    this.named?.start();
    const save = () => this.file?.save();
    this.saving = store.watch(save);
    save();
  }
}

/** Keys of what a watch knows from the file. */
function* knownKeys(
  objects: readonly KubernetesObject[],
  { kind }: WatchedResource,
  namespace: string | undefined,
): IterableIterator<ObjectKey> {
  if (kind === 'Namespace') {
    yield* new Set(objects.map(({ meta }) => meta.namespace).filter((each) => each !== ''));
    return;
  }
  for (const object of objects) {
    const isIn = namespace === undefined || object.meta.namespace === namespace;
    if (object.kind === kind && isIn) yield keyOf(object.meta);
  }
}
