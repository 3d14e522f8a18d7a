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

/** The resolution of a DNS name. */
export interface DnsWatch extends Handle {
  /** Resolves again, no sooner than the resolver's own rate limit allows. */
  requestReresolution(): void;
}

/** Resolves DNS names; `onResult` is never called before `start` has returned. */
export interface DnsWatcherFactory {
  start(target: DnsTarget, onResult: (result: Result<EndpointsResource, string>) => void): DnsWatch;
}

/** Creates a factory that uses the DNS resolver of the host library. */
export function createDnsWatcherFactory(options: ChannelOptions): DnsWatcherFactory {
  // Service configs are ignored (gRFC A37).
  const resolverOptions = { ...options, 'grpc.service_config_disable_resolution': 1 };
  return {
    start(target, onResult) {
      const path = dnsTargetKey(target);
      let latest: EndpointsResource | undefined;
      let released = false;
      /** The error of the last lookup that failed. */
      let cause: string | undefined;
      const resolver = createResolver(
        { scheme: 'dns', path },
        (endpoints) => {
          // The resolver reports an address, or an invalid name, even after it was destroyed. Another request would
          // start it again.
          if (released) return true;
          if (endpoints.ok) {
            const next = toEndpointsResource(path, endpoints.value);
            // Equal addresses keep their identity, so that consumers see no change.
            if (latest === undefined || !sameAddresses(latest, next)) latest = next;
            onResult(ok(latest));
          } else {
            const reason = sanitizeText(cause ?? endpoints.error.details);
            onResult(err(`DNS resolution of ${path} failed: ${reason}`));
            // The resolver has a backoff, but only tries again on request.
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

/** Converts addresses to one endpoint in one nameless locality of one priority (gRFCs A37, A61). */
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
