import { serverListenerName } from '../../bootstrap/server-listener-name';
import type { XdsClient } from '../../xds-client/xds-client';
import { ListenerWatch } from '../listener/listener-watch';
import type { IpPort } from '../../util/host-port';
import { silentLogger } from '../../util/logger';
import { err, ok, type Result } from '../../util/result';
import type { OpenedBootstrap } from '../../runtime/examine/client-parts';
import { describeServedListener, type ServedListener } from './served-listener';
import { createXdsClient } from '../../runtime/examine/target-watch';

/** Watches the Listener of one address, as a server does. */
export class ServerWatch {
  private constructor(
    readonly client: XdsClient,
    private readonly watch: ListenerWatch,
  ) {}

  /**
   * Starts watching.
   *
   * @param onState Called with the Listener when its routes are known or late, and with the reason when there is none.
   * @returns the watch, or why the bootstrap names no Listener.
   */
  static start(
    opened: OpenedBootstrap,
    { address: host, port }: IpPort,
    onState: (state: Result<ServedListener, string>) => void,
  ): Result<ServerWatch, string> {
    const { bootstrap, parts } = opened;
    const name = serverListenerName(bootstrap, host, port);
    if (!name.ok) return name;
    const client = createXdsClient(opened);
    const findRoutes = (name: string) => {
      const routes = watch.routesOf(name);
      return routes.ok ? routes.value : undefined;
    };
    const watch = new ListenerWatch({
      client,
      bootstrap,
      types: parts.types,
      name: name.value,
      address: { host, port },
      clock: parts.environment.clock,
      logger: silentLogger,
      watcher: {
        onServing: (listener) => onState(ok(describeServedListener(listener, findRoutes))),
        onRoutes: () => undefined,
        onNotServing: (reason) => onState(err(reason)),
      },
    });
    return ok(new ServerWatch(client, watch));
  }

  /** Whether calls of the Listener in use have these routes. */
  hasRoutes(name: string): boolean {
    return this.watch.routesOf(name).ok;
  }

  /** Ends the watch and its streams. */
  close(): void {
    this.watch.release();
    this.client.close();
  }
}
