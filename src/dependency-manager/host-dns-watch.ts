import {
  createResolver,
  type ChannelOptions,
  type GrpcEndpoint,
  type StatusOr,
  type SubchannelAddress,
} from '../grpc-js';
import { watchLookups } from '../grpc-js/host-internals';
import {
  noMetadata,
  type EndpointsResource,
  type SocketAddress,
} from '../resources/endpoints/endpoints';
import { systemClock, type Clock } from '../util/clock';
import { contained } from '../util/contained';
import { errorMessage, errorStack } from '../util/errors';
import { currentNameLookup } from '../util/grpc-js-variables';
import type { Handle } from '../util/handle';
import { MAX_DNS_ADDRESSES } from '../util/limits';
import type { Logger } from '../util/logger';
import { sanitizeText } from '../util/text';
import { err, ok, type Result } from '../util/result';
import { NEXT_STEP } from './dns-waits';
import { dnsTargetKey, type DnsTarget } from './observations';

/** The resolution of a DNS name. */
export interface DnsWatch extends Handle {
  /** What resolves the name, for texts. Default: the DNS resolver. */
  readonly resolverName?: string;
  /** Resolves again, no sooner than the resolver's own rate limit allows. */
  requestReresolution(): void;
}

type DnsResult = Result<EndpointsResource, string>;

/** The resolution of a DNS name by the resolver of grpc-js. */
export class HostDnsWatch implements DnsWatch {
  readonly resolverName: string;
  private readonly path: string;
  /** What to check when it fails. */
  private readonly advice: string;
  private readonly resolver: Pick<
    ReturnType<typeof createResolver>,
    'updateResolution' | 'destroy'
  >;
  private latest: EndpointsResource | undefined;
  private isReleased = false;
  /** Why the last lookup failed. */
  private cause: string | undefined;

  constructor(
    target: DnsTarget,
    private readonly onResult: (result: DnsResult) => void,
    options: ChannelOptions,
    private readonly logger: Logger,
    private readonly clock: Pick<Clock, 'soon'> = systemClock,
  ) {
    this.path = dnsTargetKey(target);
    const uri = { scheme: 'dns', path: this.path };
    // An application may have registered one of its own with grpc-js.
    const onError = (error: unknown) => this.onCrash(error);
    const onEndpoints = contained(
      (found: StatusOr<GrpcEndpoint[]>) => this.onEndpoints(found),
      onError,
    );
    const create = () => createResolver(uri, (found) => onEndpoints(found) ?? true, options);
    const resolver = contained(create, onError)();
    const isOfHost =
      resolver === undefined ||
      watchLookups(resolver, (text) => {
        this.cause = text;
      });
    const ofApplication = 'the resolver of the application for dns:';
    this.resolverName = isOfHost ? currentNameLookup() : ofApplication;
    this.advice = isOfHost ? NEXT_STEP : `check the name, and ${ofApplication}`;
    this.resolver = {
      updateResolution: contained(() => resolver?.updateResolution(), onError),
      destroy: contained(() => resolver?.destroy(), onError),
    };
    this.resolver.updateResolution();
  }

  release(): void {
    if (this.isReleased) return;
    this.isReleased = true;
    this.resolver.destroy();
  }

  requestReresolution(): void {
    if (!this.isReleased) this.resolver.updateResolution();
  }

  private onCrash(error: unknown): void {
    this.logger.error(
      () => `DNS resolution of ${this.path}: unexpected error: ${errorStack(error)}`,
    );
    // Later: it may have been thrown while the watch is started.
    this.clock.soon(() => {
      if (this.isReleased) return;
      this.onResult(err(`DNS resolution of ${this.path} failed: ${errorMessage(error)}`));
    });
  }

  private onEndpoints(endpoints: StatusOr<GrpcEndpoint[]>): boolean {
    // The resolver reports an address, or that it cannot read a name, even after it was destroyed, and would start
    // again if it were called.
    if (this.isReleased) return true;
    const { path, latest } = this;
    if (endpoints.ok) {
      const next = toEndpointsResource(path, this.readAddresses(endpoints.value));
      // The same answer again keeps its identity, so nothing downstream does any work.
      this.latest = latest !== undefined && hasSameAddresses(latest, next) ? latest : next;
      this.onResult(ok(this.latest));
    } else {
      const reason = sanitizeText(this.cause ?? endpoints.error.details);
      this.onResult(err(`DNS resolution of ${path} failed: ${reason}: ${this.advice}`));
      // The resolver backs off by itself, yet only tries again when it is called.
      this.resolver.updateResolution();
    }
    return true;
  }

  /** Returns the different addresses of an answer, in their order, up to the limit. */
  private readAddresses(endpoints: readonly GrpcEndpoint[]): readonly SocketAddress[] {
    const addresses = new Map<string, SocketAddress>();
    for (const address of endpoints.flatMap((endpoint) => endpoint.addresses)) {
      if (isSocketAddress(address)) addresses.set(`${address.host} ${address.port}`, address);
    }
    if (addresses.size <= MAX_DNS_ADDRESSES) return [...addresses.values()];
    this.logger.error(
      () =>
        `DNS resolution of ${this.path}: ${addresses.size} addresses, of which the first ${MAX_DNS_ADDRESSES} are used`,
    );
    return [...addresses.values()].slice(0, MAX_DNS_ADDRESSES);
  }
}

/** Converts addresses to one endpoint in one nameless locality of one priority (gRFCs A37, A61). */
function toEndpointsResource(
  clusterName: string,
  addresses: readonly SocketAddress[],
): EndpointsResource {
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

function hasSameAddresses(a: EndpointsResource, b: EndpointsResource): boolean {
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
