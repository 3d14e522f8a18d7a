import type { SubchannelAddress } from '../../grpc-js';
import type { XdsEndpoint } from '../../resources/endpoints/endpoints';
import { STEP_SIZE, type Steps } from '../../util/steps';
import { addressKey, endpointKey } from '../endpoint-key';
import { emptyEndpointSet, type EndpointSet } from '../endpoint-set';
import { endpointChanges } from './endpoint-changes';
import { ObservedEndpoint } from './observed-endpoint';

/** The endpoints of a policy by their set of addresses (gRFC A61), and what was observed of each. */
export class ObservedEndpoints {
  private current: EndpointSet = emptyEndpointSet;
  private readonly byKey = new Map<string, ObservedEndpoint>();
  /** By each of their addresses, those that have several. */
  private readonly byAddress = new Map<string, ObservedEndpoint>();

  get size(): number {
    return this.byKey.size;
  }

  /** All of them, in no particular order. */
  values(): Iterable<ObservedEndpoint> {
    return this.byKey.values();
  }

  /**
   * Makes the endpoints those of the set, in steps. What is listed still, wherever, keeps what was observed of it.
   * Another update must not begin before it is done.
   */
  *update(set: EndpointSet): Steps<void> {
    const { added, removed } = endpointChanges(this.current, set);
    this.current = set;
    let operations = 0;
    for (const endpoint of added) {
      if (++operations % STEP_SIZE === 0) yield;
      this.list(endpoint);
    }
    for (const endpoint of removed) {
      if (++operations % STEP_SIZE === 0) yield;
      this.unlist(endpoint);
    }
  }

  /** Removes all endpoints, also in the middle of an update, which must not go on then. */
  clear(): void {
    this.current = emptyEndpointSet;
    for (const endpoint of this.byKey.values()) endpoint.reset();
    this.byKey.clear();
    this.byAddress.clear();
  }

  /** The endpoint that has the address. */
  find(address: SubchannelAddress): ObservedEndpoint | undefined {
    if (!('host' in address)) return undefined;
    const key = addressKey(address);
    return this.byKey.get(key) ?? this.byAddress.get(key);
  }

  private list(listed: XdsEndpoint): void {
    const key = endpointKey(listed);
    const known = this.byKey.get(key);
    if (known !== undefined) {
      known.listings++;
      return;
    }
    const endpoint = new ObservedEndpoint(key);
    this.byKey.set(key, endpoint);
    const { addresses } = listed;
    if (addresses.length === 1) return;
    for (const address of addresses) this.byAddress.set(addressKey(address), endpoint);
  }

  private unlist(endpoint: XdsEndpoint): void {
    const key = endpointKey(endpoint);
    const known = this.byKey.get(key);
    if (known === undefined || --known.listings > 0) return;
    this.byKey.delete(key);
    // Only draining calls may still use it; ejection does not apply.
    known.reset();
    for (const address of endpoint.addresses) {
      const addressed = addressKey(address);
      if (this.byAddress.get(addressed) === known) this.byAddress.delete(addressed);
    }
  }
}
