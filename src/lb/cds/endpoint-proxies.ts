import {
  subchannelAddressToString,
  type ChannelOptions,
  type Subchannel,
  type SubchannelAddress,
} from '../../grpc-js';
import { replaceConnector } from '../../grpc-js/host-internals';
import { RelayedSubchannel } from '../../grpc-js/subchannel-wrappers';
import type { ClusterResource } from '../../resources/cluster/cluster';
import {
  forEachEndpoint,
  type EndpointsResource,
  type SocketAddress,
} from '../../resources/endpoints/endpoints';
import {
  HTTP_CONNECT_ARG,
  isHttpConnectConnector,
} from '../../security/client/contained-connector';
import type * as HttpConnect from '../../security/client/http-connect';
import { late } from '../../util/late';

/** Late: few clusters have proxies. */
const loadHttpConnect = late<typeof HttpConnect>(() =>
  require('../../security/client/http-connect'),
);

/** By address of an endpoint, its proxy; `undefined` for an endpoint that has none. */
type Proxies = ReadonlyMap<string, SocketAddress | undefined>;

const noProxies: Proxies = new Map();

/** The HTTP proxies through which the endpoints of one cluster are connected to (gRFC A86). */
export class EndpointProxies {
  /** The endpoints; `undefined` while the cluster does not use proxies. */
  private source: EndpointsResource | undefined;
  /** `undefined` while no endpoint has a proxy: it takes a text for each address. */
  private proxies: Proxies | undefined;

  /** Takes the configuration of the cluster. @returns whether an endpoint is to be connected to in another way than before. */
  update({ httpConnect = false }: ClusterResource, endpoints: EndpointsResource): boolean {
    const source = httpConnect ? endpoints : undefined;
    if (source === this.source) return false;
    const proxies = source !== undefined && hasProxies(source) ? proxiesOf(source) : undefined;
    const isChanged = this.isChanged(source, proxies);
    this.source = source;
    this.proxies = proxies;
    return isChanged;
  }

  private isChanged(source: EndpointsResource | undefined, proxies: Proxies | undefined): boolean {
    const { source: before, proxies: proxiesBefore } = this;
    if (proxies === undefined && proxiesBefore === undefined) return false;
    if (before === undefined || source === undefined) {
      const known = proxies ?? proxiesBefore ?? noProxies;
      return [...known.values()].some((proxy) => proxy !== undefined);
    }
    const earlier = proxiesBefore ?? proxiesOf(before);
    for (const [address, proxy] of proxies ?? proxiesOf(source)) {
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
      isHttpConnectConnector(connector)
        ? connector
        : new (loadHttpConnect().HttpConnectConnector)(connector, target),
    );
    return new RelayedSubchannel(relay, target);
  }
}

function proxiesOf(resource: EndpointsResource): Proxies {
  const proxies = new Map<string, SocketAddress | undefined>();
  forEachEndpoint(resource, ({ addresses, proxy }, locality) => {
    for (const address of addresses) {
      const key = subchannelAddressToString(address);
      // Of an address that several endpoints have, that of the first one.
      if (!proxies.has(key)) proxies.set(key, proxy ?? locality.proxy);
    }
  });
  return proxies;
}

/** Whether any endpoint has a proxy. */
function hasProxies({ priorities }: EndpointsResource): boolean {
  return priorities.some(({ localities }) =>
    localities.some((locality) =>
      locality.endpoints.some(({ proxy }) => (proxy ?? locality.proxy) !== undefined),
    ),
  );
}

function isSame(a: SocketAddress | undefined, b: SocketAddress | undefined): boolean {
  return a?.host === b?.host && a?.port === b?.port;
}
