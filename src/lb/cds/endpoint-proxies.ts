import {
  subchannelAddressToString,
  type ChannelOptions,
  type Subchannel,
  type SubchannelAddress,
} from '../../grpc-js';
import { replaceConnector } from '../../grpc-js/host-internals';
import { RelayedSubchannel } from '../../grpc-js/subchannel-wrappers';
import type { ClusterResource } from '../../resources/cluster/cluster';
import type { EndpointsResource, SocketAddress } from '../../resources/endpoints/endpoints';
import {
  HTTP_CONNECT_ARG,
  HttpConnectConnector,
  isHttpConnectConnector,
} from '../../security/client/http-connect';

/** By address of an endpoint, its proxy; `undefined` for an endpoint that has none. */
type Proxies = ReadonlyMap<string, SocketAddress | undefined>;

/** The HTTP proxies through which the endpoints of one cluster are connected to (gRFC A86). */
export class EndpointProxies {
  /** The endpoints; `undefined` while the cluster does not use proxies. */
  private source: EndpointsResource | undefined;
  /** `undefined` while no endpoint has a proxy: it takes a text for each address. */
  private proxies: Proxies | undefined;

  /** Takes the configuration of the cluster. @returns whether an endpoint is to be connected to in another way. */
  update({ httpConnect = false }: ClusterResource, endpoints: EndpointsResource): boolean {
    const { source: before, proxies: proxiesBefore } = this;
    const source = httpConnect ? endpoints : undefined;
    if (source === before) return false;
    this.source = source;
    this.proxies = source && hasProxies(source) ? proxiesOf(source) : undefined;
    if (this.proxies === undefined && proxiesBefore === undefined) return false;
    if (before === undefined || source === undefined) {
      return hasProxy(this.proxies ?? proxiesBefore);
    }
    const earlier = proxiesBefore ?? proxiesOf(before);
    for (const [address, proxy] of this.proxies ?? proxiesOf(source)) {
      if (earlier.has(address) && !isSame(proxy, earlier.get(address))) return true;
    }
    return false;
  }

  /** Forgets the endpoints of a cluster that has none of its own any more. */
  clear(): void {
    this.source = undefined;
    this.proxies = undefined;
  }

  /**
   * Creates a subchannel for an endpoint, which is connected through the proxy of the endpoint if it has one.
   *
   * @param create Creates a subchannel of the channel.
   */
  createSubchannel(
    address: SubchannelAddress,
    args: ChannelOptions,
    create: (address: SubchannelAddress, args: ChannelOptions) => Subchannel,
  ): Subchannel {
    const target = subchannelAddressToString(address);
    const proxy = this.proxies?.get(target);
    if (proxy === undefined) return create(address, args);
    const relay = create(proxy, { ...args, [HTTP_CONNECT_ARG]: target });
    replaceConnector(relay.getRealSubchannel(), (connector) =>
      isHttpConnectConnector(connector) ? connector : new HttpConnectConnector(connector, target),
    );
    return new RelayedSubchannel(relay, target);
  }
}

function proxiesOf({ priorities }: EndpointsResource): Proxies {
  const proxies = new Map<string, SocketAddress | undefined>();
  for (const locality of priorities.flatMap(({ localities }) => localities)) {
    for (const { addresses, proxy = locality.proxy } of locality.endpoints) {
      for (const address of addresses) {
        const key = subchannelAddressToString(address);
        // Of an address that several endpoints have, that of the first one.
        if (!proxies.has(key)) proxies.set(key, proxy);
      }
    }
  }
  return proxies;
}

/** Whether any endpoint has a proxy. */
function hasProxies({ priorities }: EndpointsResource): boolean {
  return priorities.some(({ localities }) =>
    localities.some(
      ({ endpoints, proxy }) =>
        proxy !== undefined || endpoints.some((endpoint) => endpoint.proxy !== undefined),
    ),
  );
}

function hasProxy(proxies: Proxies | undefined): boolean {
  return [...(proxies?.values() ?? [])].some((proxy) => proxy !== undefined);
}

function isSame(a: SocketAddress | undefined, b: SocketAddress | undefined): boolean {
  return a?.host === b?.host && a?.port === b?.port;
}
