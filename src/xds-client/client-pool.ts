import type { Bootstrap } from '../bootstrap/bootstrap';
import type { Handle } from '../util/handle';
import { RefCountedMap } from '../util/ref-counted-map';

/** A client in use, and what for. */
export interface ScopedClient<C> {
  readonly client: C;
  /** What its holders said they need it for, each once, in the order of the alphabet. */
  readonly scopes: readonly string[];
}

/** A hold on a client shared by everybody with an equal bootstrap. */
export interface PooledClient<C> extends Handle {
  readonly client: C;
}

/**
 * The clients of a process: one for each distinct bootstrap, made for the first holder and closed as soon as
 * the last one lets go, so that a process with nothing else to do can end.
 */
export class ClientPool<C extends { close(): void }> {
  /** One object for each distinct bootstrap in use. */
  private readonly bootstraps = new Map<string, Bootstrap>();
  private readonly pooled: RefCountedMap<Bootstrap, C>;
  private readonly holds = new Set<{ readonly client: C; readonly scope: string }>();

  /** @param create Makes the client of a bootstrap. */
  constructor(create: (bootstrap: Bootstrap) => C) {
    this.pooled = new RefCountedMap(create, (client, bootstrap) => {
      this.bootstraps.delete(contentOf(bootstrap));
      client.close();
    });
  }

  /**
   * Takes a hold on the client of a bootstrap. Two bootstraps of equal content have the same client.
   * @param scope What for: the target of a channel.
   */
  acquire(bootstrap: Bootstrap, scope: string): PooledClient<C> {
    const content = contentOf(bootstrap);
    const shared = this.bootstraps.get(content) ?? bootstrap;
    this.bootstraps.set(content, shared);
    const held = this.pooled.acquire(shared);
    const client = held.value;
    const hold = { client, scope };
    this.holds.add(hold);
    const release = () => {
      this.holds.delete(hold);
      held.release();
    };
    return { client, release };
  }

  /** Every client in use. */
  clients(): ScopedClient<C>[] {
    return [...this.pooled.values()].map((client) => {
      const scopes = new Set<string>();
      for (const hold of this.holds) if (hold.client === client) scopes.add(hold.scope);
      return { client, scopes: [...scopes].sort() };
    });
  }
}

/** Equal for two bootstraps exactly when they say the same. Where they were read from does not matter. */
function contentOf({ source: _source, ...content }: Bootstrap): string {
  return JSON.stringify(content, (_key, value: unknown) =>
    value instanceof Map || value instanceof Set ? [...value.entries()] : value,
  );
}
