import type { Bootstrap } from '../bootstrap/bootstrap';
import { RefCountedMap, type Handle } from '../util/handle';
import type { ConnectionOptions } from './transport';

/** A client in use. */
export interface ScopedClient<C> {
  readonly client: C;
  /** The target of its channels. */
  readonly scope: string;
}

/** A reference to the client of a target. */
export interface PooledClient<C, G> extends Handle {
  readonly client: C;
  /** The part that it shares with the clients of other targets. */
  readonly group: G;
}

/** The part that the clients of one bootstrap share. */
export interface ClientGroup<C> {
  /** The options of the channel for which the group was created. Default: that channel had none. */
  readonly connectionOptions?: ConnectionOptions | undefined;
  /** Creates the client of a target. */
  createClient(scope: string): C;
}

interface PooledGroup<C, G> {
  readonly group: G;
  /** The clients by scope. */
  readonly clients: RefCountedMap<string, C>;
}

/**
 * The clients of a process: one for each target of each distinct bootstrap (gRFC A71). A client is created for the
 * first channel of its target and closed with the last one, so that a process with nothing else to do can end. The options
 * of its connections are those of the first channel of the bootstrap (gRFC A110), until the last one has closed.
 */
export class ClientPool<C extends { close(): void }, G extends ClientGroup<C>> {
  /** By the content of their bootstraps. */
  private readonly groups = new Map<string, PooledGroup<C, G>>();

  /** @param createGroup Given a bootstrap, at any time the clients that share it, and the options of their connections. */
  constructor(
    private readonly createGroup: (
      bootstrap: Bootstrap,
      clients: () => Iterable<C>,
      connectionOptions: ConnectionOptions | undefined,
    ) => G,
  ) {}

  /**
   * Acquires the client of a target. Two bootstraps of equal content are one.
   * @param scope The target.
   * @param connectionOptions Of the channel. They have no effect unless the group is created: see its own.
   */
  acquire(
    bootstrap: Bootstrap,
    scope: string,
    connectionOptions?: ConnectionOptions,
  ): PooledClient<C, G> {
    const content = contentOf(bootstrap);
    let pooled = this.groups.get(content);
    if (pooled === undefined) {
      const clients: RefCountedMap<string, C> = new RefCountedMap(
        (target) => group.createClient(target),
        (closed) => {
          closed.close();
          if (clients.values().next().done === true) this.groups.delete(content);
        },
      );
      const group = this.createGroup(bootstrap, () => clients.values(), connectionOptions);
      pooled = { group, clients };
      this.groups.set(content, pooled);
    }
    const client = pooled.clients.acquire(scope);
    return { client: client.value, group: pooled.group, release: () => client.release() };
  }

  /** Every client in use. */
  clients(): ScopedClient<C>[] {
    const scoped: ScopedClient<C>[] = [];
    for (const { clients } of this.groups.values()) {
      for (const [scope, client] of clients.entries()) scoped.push({ client, scope });
    }
    return scoped;
  }
}

/** Returns a text that is equal for two bootstraps of the same content, wherever they were read from. */
function contentOf({ source: _source, ...content }: Bootstrap): string {
  return JSON.stringify(content, (_key, value: unknown) =>
    value instanceof Map || value instanceof Set ? [...value.entries()] : value,
  );
}
