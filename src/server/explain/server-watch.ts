import type { XdsClient } from '../../xds-client/xds-client';
import { ListenerWatch, type ListenerWatcher } from '../listener/listener-watch';
import type { SocketListener } from '../../resources/listener/listener';
import type { RouteConfigResource } from '../../resources/route-config/route-config';
import type { IpPort } from '../../util/host-port';
import { silentLogger } from '../../util/logger';
import { err, ok, type Result } from '../../util/result';
import type { OpenedBootstrap } from '../../runtime/examine/client-parts';
import { createXdsClient } from '../../runtime/examine/target-watch';
import { acquireClient } from '../acquire-client';
import { parseLiteralAddress } from '../literal-address';
import type { Handle } from '../../util/handle';

/** Notified of the Listener that a server would serve by, or of why it would not. */
type OnListener = (state: Result<SocketListener, string>) => void;

/** Watches the Listener of one address, as a server does, by a client of its own. */
export class ServerWatch {
  readonly client: XdsClient;
  private readonly watch: ListenerWatch;

  /** @param onState Called with the Listener when its routes are known or late, and with the reason when there is none. */
  constructor(
    opened: OpenedBootstrap,
    name: string,
    { address: host, port }: IpPort,
    onState: OnListener,
  ) {
    const { bootstrap, parts } = opened;
    this.client = createXdsClient(opened);
    this.watch = new ListenerWatch({
      client: this.client,
      bootstrap,
      types: parts.types,
      name,
      address: { host, port },
      clock: parts.environment.clock,
      logger: silentLogger,
      watcher: watcherOf(onState),
    });
  }

  /** Returns the routes of the Listener in use; `undefined` if its calls have none. */
  routesOf(name: string): RouteConfigResource | undefined {
    const routes = this.watch.routesOf(name);
    return routes.ok ? routes.value : undefined;
  }

  /** Ends the watch and its streams. */
  close(): void {
    this.watch.release();
    this.client.close();
  }
}

/** The Listener of an address that is watched, as by an `XdsServer` that is bound to it; nothing is listened on. */
export interface WatchedListener extends Handle {
  /** Returns the Listener that a server would serve by, or why it would not; `undefined` before either is known. */
  served(): Result<SocketListener, string> | undefined;
}

/**
 * Watches the Listener of an address, with its routes, by the bootstrap of the process.
 *
 * @returns why there is no client, otherwise.
 * @throws TypeError if the address is none.
 */
export function watchListener(caller: string, address: string): Result<WatchedListener, string> {
  const literal = parseLiteralAddress(caller, address);
  const acquired = acquireClient(literal, {});
  if (!acquired.ok) return acquired;
  const { client, listenerName: name } = acquired.value;
  let served: Result<SocketListener, string> | undefined;
  const watch = new ListenerWatch({
    ...client,
    name,
    address: literal,
    watcher: watcherOf((state) => (served = state)),
  });
  return ok({
    served: () => served,
    release() {
      watch.release();
      client.release();
    },
  });
}

function watcherOf(onState: OnListener): ListenerWatcher {
  return {
    onServing: (listener) => onState(ok(listener)),
    onRoutes: () => undefined,
    onNotServing: (reason) => onState(err(reason)),
  };
}
