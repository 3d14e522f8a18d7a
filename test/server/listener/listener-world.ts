import type { SocketAddress } from '../../../src/resources/endpoints/endpoints';
import type { SocketListener } from '../../../src/resources/listener/listener';
import { ListenerWatch } from '../../../src/server/listener/listener-watch';
import { withoutSince } from '../../../src/util/since';
import type { ResourceType } from '../../../src/xds-client/resource-type';
import type { FakeStream } from '../../support/fake-transport';
import {
  filterChainJson,
  routeConfigJson,
  routeToCluster,
  socketListenerJson,
  type Json,
} from '../../support/xds-json';
import { encode, types } from '../../resources/decode-json';
import { bootstrap, Harness, type HarnessOptions } from '../../xds-client/harness';

const NAME = 'inbound';

/** A listener with a filter chain for each route configuration; a source port tells their matches apart. */
export function listenerOf(routeConfigNames: readonly string[], extra: Json = {}): Json {
  const chains = routeConfigNames.map((name, i) => {
    const filter_chain_match = { source_ports: [i + 1] };
    return filterChainJson(name, { name: `chain ${name}`, filter_chain_match });
  });
  return socketListenerJson(NAME, chains, extra);
}

/** A route configuration, of which one version differs from another by the prefix of its route. */
export function routesOf(name: string, prefix: string): Json {
  return routeConfigJson(name, [{ ...routeToCluster('c'), match: { prefix } }]);
}

/** A server address that follows its Listener over a client whose management server is the test. */
export class ListenerWorld {
  readonly harness: Harness;
  readonly watch: ListenerWatch;
  /** What the watcher was notified of, without since when failures last. */
  readonly told: string[] = [];
  /** The reasons as they were. */
  readonly reasons: string[] = [];
  /** The stream that resources are sent on. Default: the newest of the first server. */
  stream: FakeStream | undefined;
  /** Called within each notification. */
  onNotification: () => void = () => undefined;

  constructor(
    options: HarnessOptions = {},
    address: SocketAddress = { host: '10.0.0.1', port: 8080 },
  ) {
    const harness = (this.harness = new Harness(options));
    const { client, clock, logger } = harness;
    this.watch = new ListenerWatch({
      client,
      types,
      clock,
      logger,
      address,
      name: NAME,
      bootstrap: bootstrap(options),
      watcher: {
        onServing: (listener) => this.tell(`serving ${this.describe(listener)}`),
        onRoutes: (name) => this.tell(`routes ${name}: ${this.routes(name)}`),
        onNotServing: (reason) => {
          this.reasons.push(reason);
          this.tell(`not serving: ${withoutSince(reason)}`);
        },
      },
    });
    clock.flush();
    harness.opened.push(this.watch);
  }

  /** Sends listeners. */
  lds(version: string, ...listeners: readonly Json[]): this {
    return this.send(types.listener, version, listeners);
  }

  /** Sends route configurations. */
  rds(version: string, ...routeConfigs: readonly Json[]): this {
    return this.send(types.routeConfig, version, routeConfigs);
  }

  /** What the watcher was notified of since the last call. */
  take(): readonly string[] {
    return this.told.splice(0);
  }

  /** The names that are requested of a type. */
  requested(type: ResourceType<unknown>): readonly string[] {
    const { requests } = this.harness.stream;
    return requests.filter(({ typeUrl }) => typeUrl === type.typeUrl).at(-1)?.resourceNames ?? [];
  }

  /** The state of routes: the prefix of the first route, or the reason why calls fail. */
  routes(name: string): string {
    const routes = this.watch.routesOf(name);
    if (!routes.ok) return withoutSince(routes.error);
    const [route] = routes.value.virtualHosts[0]?.routes ?? [];
    const path = route?.match.path;
    return path?.kind === 'prefix' ? path.text : 'no prefix';
  }

  private tell(notification: string): void {
    this.told.push(notification);
    this.onNotification();
  }

  private describe({ filterChains }: SocketListener): string {
    const chains = filterChains.map(({ name, httpConnectionManager: { routes } }) =>
      routes.kind === 'rds' ? `${name} (${this.routes(routes.routeConfigName)})` : name,
    );
    return chains.join(', ');
  }

  private send(type: ResourceType<unknown>, version: string, resources: readonly Json[]): this {
    const { typeUrl } = type;
    (this.stream ?? this.harness.stream).respond({
      typeUrl,
      versionInfo: version,
      resources: resources.map((json) => ({ typeUrl, value: encode(type, json) })),
    });
    return this;
  }
}
