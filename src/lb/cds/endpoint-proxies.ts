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
} from '../../security/http-connect';

/** By address of an endpoint, its proxy; `undefined` for an endpoint that has none. */
type Proxies = ReadonlyMap<string, SocketAddress | undefined>;

/** The HTTP proxies through which the endpoints of one cluster are connected to (gRFC A86). */
export class EndpointProxies {
  private source: EndpointsResource | undefined;
  /** `undefined` while the cluster does not use proxies. */
  private proxies: Proxies | undefined;

  /** Takes the configuration of the cluster. @returns whether an endpoint is to be connected to in another way. */
  update({ httpConnect = false }: ClusterResource, endpoints: EndpointsResource): boolean {
    const before = this.proxies;
    if (httpConnect && before !== undefined && endpoints === this.source) return false;
    this.source = endpoints;
    this.proxies = httpConnect ? proxiesOf(endpoints) : undefined;
    if (before === undefined) return hasProxy(this.proxies);
    if (this.proxies === undefined) return hasProxy(before);
    for (const [address, proxy] of this.proxies) {
      if (before.has(address) && !isSame(proxy, before.get(address))) return true;
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

function hasProxy(proxies: Proxies | undefined): boolean {
  return [...(proxies?.values() ?? [])].some((proxy) => proxy !== undefined);
}

function isSame(a: SocketAddress | undefined, b: SocketAddress | undefined): boolean {
  return a?.host === b?.host && a?.port === b?.port;
}
