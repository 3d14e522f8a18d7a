import {
  BOOLEAN,
  checkArgument,
  checkOptions,
  listOf,
  optional,
  TEXT,
  type MembersOf,
  type Rule,
} from '../../util/check-arguments';
import type { JsonOptions } from '../../wire/proto-json/encode-json';
import {
  clusterKind,
  createResourceSet,
  emptyResourceSet,
  endpointKind,
  KIND,
  listenerKind,
  RESOURCE_ERROR,
  routeKind,
  SET,
  type ResourceErrorInput,
  type ResourceKind,
  type ResourceSet,
  type SnapshotResource,
} from '../resource';
import type { ResourceInput } from './resource-input';
import {
  resourcesOfServices,
  SERVICE_OPTIONS,
  SERVICES,
  type ServiceOptions,
  type Services,
} from './services';
import {
  listenersOfServers,
  SERVER_OPTIONS,
  SERVERS,
  type ServerListenerOptions,
  type Servers,
} from './servers';
import { buildErrors, buildResources, SnapshotError, type ResourceList } from './snapshot-builder';

/** Resources for a snapshot, by kind. */
export interface SnapshotInput {
  readonly listeners?: readonly ResourceInput[];
  readonly routes?: readonly ResourceInput[];
  readonly clusters?: readonly ResourceInput[];
  readonly endpoints?: readonly ResourceInput[];
  /** Resources of any type, each with its `@type` or `typeUrl`; also of types without a schema in this server. */
  readonly resources?: readonly ResourceInput[];
  /** Errors sent to clients instead of the resources of these names. */
  readonly errors?: readonly ResourceErrorInput[];
}

/** Each item is checked with the schema of its type. */
const RESOURCES: Rule = { legal: 'a list of resources', accepts: Array.isArray };

const INPUT: MembersOf<SnapshotInput> = {
  listeners: optional(RESOURCES),
  routes: optional(RESOURCES),
  clusters: optional(RESOURCES),
  endpoints: optional(RESOURCES),
  resources: optional(RESOURCES),
  errors: optional(listOf('a list of errors of resources', RESOURCE_ERROR)),
};

export const JSON_OPTIONS: MembersOf<JsonOptions> = { ignoreUnknownFields: optional(BOOLEAN) };

const SETS: Rule = {
  legal: 'a map of kinds to sets: Snapshot.from() makes a snapshot of resources',
  accepts: (value) =>
    value instanceof Map &&
    Array.from(value).every(([kind, set]) => KIND.accepts(kind) && SET.accepts(set)),
};

/**
 * The resources and errors served to clients at one moment. Snapshots are immutable; a derived snapshot shares the
 * unchanged encoded resources, and their versions, with the original.
 */
export class Snapshot {
  /** The snapshot without resources. */
  static readonly empty: Snapshot = new Snapshot(new Map());

  /** Creates a snapshot of existing sets; `Snapshot.from` encodes resources. */
  constructor(private readonly sets: ReadonlyMap<ResourceKind, ResourceSet>) {
    checkArgument('new Snapshot()', 'sets', sets, SETS);
  }

  /**
   * Creates a snapshot of these resources.
   *
   * @throws `SnapshotError` with every problem of the input.
   *
   * @example
   * ```ts
   * import { Snapshot } from 'grpc-xds/control-plane';
   *
   * const snapshot = Snapshot.from({ listeners, routes, clusters, endpoints });
   * ```
   */
  static from(input: SnapshotInput, options: JsonOptions = {}): Snapshot {
    return Snapshot.empty.change('Snapshot.from()', input, options, REPLACE);
  }

  /**
   * Creates a snapshot of services with round_robin among their addresses, such as
   * `Snapshot.forServices({ echo: ['127.0.0.1:50051'] })` for `xds:///echo`.
   *
   * @param services The addresses of each service, `host:port`, by its name. A host name must be the only address.
   * @param options Whether clients report their load. Default: they do not.
   * @throws `SnapshotError` for addresses that cannot be used.
   *
   * @example
   * ```ts
   * import { Snapshot } from 'grpc-xds/control-plane';
   *
   * const snapshot = Snapshot.forServices({ echo: ['127.0.0.1:50051', '127.0.0.1:50052'] });
   * ```
   */
  static forServices(services: Services, options: ServiceOptions = {}): Snapshot {
    checkArgument('Snapshot.forServices()', 'services', services, SERVICES);
    checkOptions('Snapshot.forServices()', options, SERVICE_OPTIONS);
    return Snapshot.from(resourcesOfServices(services, options));
  }

  /**
   * Creates a snapshot with Listeners of servers, as istiod sends them for a PeerAuthentication, with HTTP filters such as RBAC: an
   * application can test what its mesh will allow and deny.
   *
   * @param servers The configuration of each server, by the address at which it listens: `IP:port`, without port 0.
   * @param options The template of the names. Default: Istio's template.
   * @throws `SnapshotError` for addresses that cannot be used, and for filters that every server rejects, such as filters for
   *   clients.
   *
   * @example
   * ```ts
   * import { Snapshot } from 'grpc-xds/control-plane';
   *
   * const servers = Snapshot.forServers({
   *   '127.0.0.1:50051': {
   *     mtls: 'STRICT',
   *     httpFilters: [
   *       {
   *         name: 'rbac',
   *         typed_config: {
   *           '@type': 'type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC',
   *           rules: { policies: { all: { permissions: [{ any: true }], principals: [{ any: true }] } } },
   *         },
   *       },
   *     ],
   *   },
   * });
   * const snapshot = Snapshot.forServices({ echo: ['127.0.0.1:50051'] }).merge(servers);
   * ```
   */
  static forServers(servers: Servers, options: ServerListenerOptions = {}): Snapshot {
    checkArgument('Snapshot.forServers()', 'servers', servers, SERVERS);
    checkOptions('Snapshot.forServers()', options, SERVER_OPTIONS);
    return Snapshot.from({ listeners: listenersOfServers(servers, options) });
  }

  /**
   * Returns a snapshot in which each given list replaces all resources of its kind; `resources` replaces every kind that it
   * contains, and `errors` replaces all errors. Lists that are not given leave their resources unchanged.
   *
   * @throws `SnapshotError` as `from` does.
   */
  with(input: SnapshotInput, options: JsonOptions = {}): Snapshot {
    return this.change('Snapshot.with()', input, options, REPLACE);
  }

  /**
   * Returns a snapshot in which each given resource is added or replaces the one of the same name.
   *
   * @param input Resources, or another snapshot with its resources and errors.
   * @throws `SnapshotError` as `from` does.
   */
  merge(input: SnapshotInput | Snapshot, options: JsonOptions = {}): Snapshot {
    const merge: Merge = {
      resources: (given, kind) => new Map([...this.set(kind).byName, ...given]),
      errors: (given, kind) => new Map([...this.set(kind).errors, ...given]),
    };
    if (!(input instanceof Snapshot)) return this.change('Snapshot.merge()', input, options, merge);
    const sets = new Map(this.sets);
    for (const [kind, { byName, errors }] of input.sets) {
      const before = this.set(kind);
      const resources = merge.resources(byName, kind);
      sets.set(kind, createResourceSet(resources, before, merge.errors(errors, kind)));
    }
    return new Snapshot(sets);
  }

  /** Returns the resources and errors of a kind. */
  set(kind: ResourceKind): ResourceSet {
    checkArgument('Snapshot.set()', 'kind', kind, KIND);
    return this.sets.get(kind) ?? emptyResourceSet;
  }

  /** Returns the kinds that have or had resources or errors. */
  kinds(): readonly ResourceKind[] {
    return [...this.sets.keys()];
  }

  /** Returns one resource. */
  get(kind: ResourceKind, name: string): SnapshotResource | undefined {
    checkArgument('Snapshot.get()', 'kind', kind, KIND);
    checkArgument('Snapshot.get()', 'name', name, TEXT);
    return this.sets.get(kind)?.byName.get(name);
  }

  /** The shortest time to live of any resource, in milliseconds; undefined if none expires. */
  get shortestTtlMs(): number | undefined {
    let shortest: number | undefined;
    for (const { byName } of this.sets.values()) {
      for (const { ttlMs } of byName.values()) {
        if (ttlMs !== undefined && ttlMs < (shortest ?? Infinity)) shortest = ttlMs;
      }
    }
    return shortest;
  }

  private change(
    caller: string,
    input: SnapshotInput,
    options: JsonOptions,
    merge: Merge,
  ): Snapshot {
    checkOptions(caller, input, INPUT);
    checkOptions(caller, options, JSON_OPTIONS);
    const built = buildResources(readLists(input), this, options);
    const errors = buildErrors(input.errors ?? []);
    const problems = [...(built.ok ? [] : built.error), ...(errors.ok ? [] : errors.error)];
    if (!built.ok || !errors.ok) throw new SnapshotError(problems);
    const kinds = new Set([...built.value.keys(), ...errors.value.keys()]);
    if (input.errors !== undefined) for (const kind of this.sets.keys()) kinds.add(kind);
    const sets = new Map(this.sets);
    for (const kind of kinds) {
      const before = this.set(kind);
      const resources = built.value.get(kind);
      const given = input.errors && (errors.value.get(kind) ?? new Map());
      const byName = resources === undefined ? before.byName : merge.resources(resources, kind);
      const failed = given === undefined ? before.errors : merge.errors(given, kind);
      sets.set(kind, createResourceSet(byName, before, failed));
    }
    return new Snapshot(sets);
  }
}

/** Combines the given and the existing resources and errors of one kind. */
interface Merge {
  resources(given: ResourceSet['byName'], kind: ResourceKind): ResourceSet['byName'];
  errors(given: ResourceSet['errors'], kind: ResourceKind): ResourceSet['errors'];
}

const REPLACE: Merge = { resources: (given) => given, errors: (given) => given };

export const SNAPSHOT: Rule = {
  legal: 'a Snapshot, such as of Snapshot.from()',
  accepts: (value) => value instanceof Snapshot,
};

function readLists(input: SnapshotInput): readonly ResourceList[] {
  const lists: ResourceList[] = [];
  const add = (
    list: string,
    kind: ResourceKind | undefined,
    items: readonly unknown[] | undefined,
  ) => {
    if (items !== undefined) lists.push({ list, kind, items });
  };
  add('listeners', listenerKind, input.listeners);
  add('routes', routeKind, input.routes);
  add('clusters', clusterKind, input.clusters);
  add('endpoints', endpointKind, input.endpoints);
  add('resources', undefined, input.resources);
  return lists;
}
