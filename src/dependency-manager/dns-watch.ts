import {
  createResolver,
  type ChannelOptions,
  type GrpcEndpoint,
  type SubchannelAddress,
} from '../grpc-js';
import { watchLookups } from '../grpc-js/host-internals';
import {
  noMetadata,
  type EndpointsResource,
  type SocketAddress,
} from '../resources/endpoints/endpoints';
import { createHandle, type Handle } from '../util/handle';
import { sanitizeText } from '../util/sanitize-text';
import { err, ok, type Result } from '../util/result';
import { dnsTargetKey, type DnsTarget } from './observations';

/** A DNS name being resolved. */
export interface DnsWatch extends Handle {
  /** Resolves again, no sooner than the resolver's own rate limit allows. */
  requestReresolution(): void;
}

/** Starts resolving a name; the listener is told of each result, never before `start` has returned. */
export interface DnsWatcherFactory {
  start(target: DnsTarget, onResult: (result: Result<EndpointsResource, string>) => void): DnsWatch;
}

/** DNS through the host library's own resolver. */
export function createDnsWatcherFactory(options: ChannelOptions): DnsWatcherFactory {
  // Service configs are ignored (gRFC A37), so they need not be asked for.
  const resolverOptions = { ...options, 'grpc.service_config_disable_resolution': 1 };
  return {
    start(target, onResult) {
      const path = dnsTargetKey(target);
      let latest: EndpointsResource | undefined;
      let released = false;
      /** Why the last lookup that failed did so. */
      let cause: string | undefined;
      const resolver = createResolver(
        { scheme: 'dns', path },
        (endpoints) => {
          // The resolver tells an address, or that it cannot read a name, even after it was destroyed. To
          // ask it for anything then would start it again.
          if (released) return true;
          if (endpoints.ok) {
            const next = toEndpointsResource(path, endpoints.value);
            // The same answer again keeps its identity, so nothing downstream does any work.
            if (latest === undefined || !sameAddresses(latest, next)) latest = next;
            onResult(ok(latest));
          } else {
            const reason = sanitizeText(cause ?? endpoints.error.details);
            onResult(err(`DNS resolution of ${path} failed: ${reason}`));
            // The resolver backs off by itself, yet only tries again when asked to.
            resolver.updateResolution();
          }
          return true;
        },
        resolverOptions,
      );
      watchLookups(resolver, (text) => {
        cause = text;
      });
      resolver.updateResolution();
      const handle = createHandle(() => {
        released = true;
        resolver.destroy();
      });
      return {
        release: () => handle.release(),
        requestReresolution() {
          if (!released) resolver.updateResolution();
        },
      };
    },
  };
}

/** All addresses form one endpoint in one nameless locality of one priority (gRFCs A37, A61). */
function toEndpointsResource(
  clusterName: string,
  endpoints: readonly GrpcEndpoint[],
): EndpointsResource {
  const addresses = endpoints.flatMap((endpoint) => endpoint.addresses).filter(isSocketAddress);
  const endpoint = {
    addresses,
    weight: 1,
    health: 'UNKNOWN',
    hostname: clusterName,
    hashKey: undefined,
    metadata: noMetadata,
  } as const;
  const locality = { region: '', zone: '', subZone: '' };
  const localities = [{ locality, weight: 1, endpoints: addresses.length === 0 ? [] : [endpoint] }];
  return { clusterName, priorities: [{ localities }], drops: [] };
}

function isSocketAddress(address: SubchannelAddress): address is SubchannelAddress & SocketAddress {
  return 'host' in address;
}

function sameAddresses(a: EndpointsResource, b: EndpointsResource): boolean {
  const left = addressesOf(a);
  const right = addressesOf(b);
  return (
    left.length === right.length &&
    left.every((address, i) => address.host === right[i]?.host && address.port === right[i].port)
  );
}

function addressesOf(resource: EndpointsResource): readonly SocketAddress[] {
  return resource.priorities[0]?.localities[0]?.endpoints[0]?.addresses ?? [];
}
