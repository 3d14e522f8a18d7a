import type {
  LocalityEndpoints,
  SocketAddress,
  XdsEndpoint,
} from '../../resources/endpoints/endpoints';
import type { EndpointSet } from '../endpoint-set';

/** An address as grpc-js writes it, and cookies: `10.0.0.1:80` or `[::1]:80`. */
export function formatAddress({ host, port }: SocketAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * The endpoints of a cluster, whatever their priority, by each of their addresses. An update costs what the
 * localities that changed have in endpoints, and builds text only for endpoints that changed themselves.
 */
export class HostIndex {
  private readonly endpoints = new Map<string, XdsEndpoint>();
  private localities: ReadonlySet<LocalityEndpoints> = new Set();

  /** The endpoint with an address, such as `10.0.0.1:80`. */
  get(address: string): XdsEndpoint | undefined {
    return this.endpoints.get(address);
  }

  /** Makes the endpoints those of the set. */
  update(set: EndpointSet): void {
    const next = new Set<LocalityEndpoints>();
    collectLocalities(set, next);
    const gone = new Set<XdsEndpoint>();
    const added: XdsEndpoint[] = [];
    for (const locality of this.localities) {
      if (!next.has(locality)) for (const endpoint of locality.endpoints) gone.add(endpoint);
    }
    for (const locality of next) {
      if (this.localities.has(locality)) continue;
      for (const endpoint of locality.endpoints) if (!gone.delete(endpoint)) added.push(endpoint);
    }
    // In this order: an address may have moved from one endpoint to another.
    for (const { addresses } of gone) {
      for (const address of addresses) this.endpoints.delete(formatAddress(address));
    }
    for (const endpoint of added) {
      for (const address of endpoint.addresses)
        this.endpoints.set(formatAddress(address), endpoint);
    }
    this.localities = next;
  }
}

/** Adds the localities of a set and of its children. */
export function collectLocalities(set: EndpointSet, into: Set<LocalityEndpoints>): void {
  for (const locality of set.localities) into.add(locality);
  for (const child of set.children?.values() ?? []) collectLocalities(child, into);
}
