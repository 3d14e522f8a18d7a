import {
  serverListenerName,
  type SocketListener,
  type RouteConfigResource,
  ListenerWatch,
  type XdsClient,
} from 'grpc-xds/internal';
import type { IpPort } from '../../../../src/util/host-port';
import { silentLogger } from '../../../../src/util/logger';
import { err, ok, type Result } from '../../../../src/util/result';
import type { OpenedBootstrap } from './client-parts';
import { createXdsClient } from './target-watch';

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
    onState: (state: Result<SocketListener, string>) => void,
  ): Result<ServerWatch, string> {
    const { bootstrap, parts } = opened;
    const name = serverListenerName(bootstrap, host, port);
    if (!name.ok) return name;
    const client = createXdsClient(opened);
    const watch = new ListenerWatch({
      ...{ client, bootstrap, types: parts.types, name: name.value, address: { host, port } },
      ...{ clock: parts.environment.clock, logger: silentLogger },
      watcher: {
        onServing: (listener) => onState(ok(listener)),
        onRoutes: () => undefined,
        onNotServing: (reason) => onState(err(reason)),
      },
    });
    return ok(new ServerWatch(client, watch));
  }

  /** Returns the routes of the Listener in use, or why calls with them fail. */
  routesOf(name: string): Result<RouteConfigResource, string> {
    return this.watch.routesOf(name);
  }

  /** Ends the watch and its streams. */
  close(): void {
    this.watch.release();
    this.client.close();
  }
}
