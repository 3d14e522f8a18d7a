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
import { HTTP_CONNECT_ARG } from '../../security/client/contained-connector';
import { isHttpConnectConnector } from '../../security/client/other-copies';
import type * as HttpConnect from '../../security/client/http-connect';
import { lazy } from '../../util/lazy';
import { AddressValues } from './address-values';

/** Late: few clusters have proxies. */
const loadHttpConnect = lazy<typeof HttpConnect>(() =>
  require('../../security/client/http-connect'),
);

/** The HTTP proxies through which the endpoints of one cluster are connected to (gRFC A86). */
export class EndpointProxies {
  private readonly proxies = new AddressValues<SocketAddress>(
    ({ proxy }, locality) => proxy ?? locality.proxy,
    (a, b) => a.host === b.host && a.port === b.port,
  );

  /** Takes the configuration of the cluster. @returns whether an endpoint is to be connected to in another way than before. */
  update({ httpConnect = false }: ClusterResource, endpoints: EndpointsResource): boolean {
    return this.proxies.update(httpConnect ? endpoints : undefined);
  }

  /** Forgets the endpoints of a cluster that has none of its own any more. */
  clear(): void {
    this.proxies.update(undefined);
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
    const proxy = this.proxies.get(target);
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
