import type { Metadata } from '../../wire/generated/envoy/config/core/v3/base';
import { HealthStatus as HealthStatusMessage } from '../../wire/generated/envoy/config/core/v3/health_check';
import type {
  Endpoint,
  LbEndpoint,
} from '../../wire/generated/envoy/config/endpoint/v3/endpoint_components';
import type { Violations } from '../../util/violations';
import { parseAddress } from '../shared/address-parser';
import { parseTypedMetadata, type MetadataTypes } from '../shared/metadata-parser';
import { structToJson } from '../shared/struct-json-parser';
import {
  MAX_ADDITIONAL_ADDRESSES,
  MAX_HASH_KEY_LENGTH,
  MAX_HOSTNAME_LENGTH,
} from './assignment-limits';
import { shareMetadata } from './endpoint-reuse';
import {
  noMetadata,
  type HealthStatus,
  type SocketAddress,
  type XdsEndpoint,
  type EndpointMetadata,
} from './endpoints';

const HASH_KEY_METADATA = 'envoy.lb';
const PROXY_METADATA = 'envoy.http11_proxy_transport_socket.proxy_address';

/** The options for endpoints. */
export interface EndpointReading {
  /** Whether DRAINING endpoints are kept (gRFC A55). */
  readonly keepDraining: boolean;
  /** Whether `additional_addresses` are read (gRFC A61). */
  readonly additionalAddresses: boolean;
  /** The types of metadata values that are validated (gRFC A86). Default: metadata is not validated. */
  readonly metadataTypes?: MetadataTypes | undefined;
}

/** Parses the endpoints of one resource (gRFCs A27, A61, A76, A81, A86). */
export class LbEndpointParser {
  private unusable = 0;
  private lastMetadata = noMetadata;

  constructor(private readonly reading: EndpointReading) {}

  /** How many endpoints have an address of a kind that this client cannot use; `undefined` if none has. */
  get unusableEndpoints(): number | undefined {
    return this.unusable === 0 ? undefined : this.unusable;
  }

  /**
   * Parses an endpoint.
   *
   * @returns `undefined` for an endpoint that gets no calls because of its health, which is not validated, for one with
   * no address that this client can use, and after adding a violation.
   */
  parse(message: LbEndpoint, violations: Violations): XdsEndpoint | undefined {
    const { healthStatus, hostIdentifier, loadBalancingWeight: weight = 1 } = message;
    const health = parseHealthStatus(healthStatus);
    if (health === undefined) return undefined;
    if (health === 'DRAINING' && !this.reading.keepDraining) return undefined;
    if (weight === 0) violations.at('load_balancing_weight').add('must be at least 1, not 0');
    if (hostIdentifier?.$case !== 'endpoint')
      return violations.at('endpoint').add('field not present');
    const endpoint = hostIdentifier.value;
    const addresses = this.parseAddresses(endpoint, violations.at('endpoint'));
    const hashKey = message.metadata && readHashKey(message.metadata, violations);
    const metadata = this.readMetadata(message.metadata);
    const proxy = this.parseProxy(message.metadata, violations.at('metadata'));
    const { hostname } = endpoint;
    if (hostname.length > MAX_HOSTNAME_LENGTH) {
      const at = violations.at('endpoint').at('hostname');
      at.add(`${hostname.length} characters, more than ${MAX_HOSTNAME_LENGTH}`);
    }
    if (addresses === undefined) return undefined;
    const parsed = { addresses, weight, health, hostname, hashKey, metadata };
    return proxy === undefined ? parsed : { ...parsed, proxy };
  }

  /** Parses the HTTP proxy in metadata (gRFC A86); `undefined` if it names none, or a value of another type. */
  parseProxy(metadata: Metadata | undefined, violations: Violations): SocketAddress | undefined {
    const { metadataTypes } = this.reading;
    if (metadataTypes === undefined || metadata === undefined) return undefined;
    if (metadata.typedFilterMetadata.size === 0) return undefined;
    const values = parseTypedMetadata(metadata.typedFilterMetadata, metadataTypes, violations);
    const proxy = values.get(PROXY_METADATA);
    return proxy?.kind === 'address' ? proxy.address : undefined;
  }

  private parseAddresses(
    { address, additionalAddresses: listed }: Endpoint,
    violations: Violations,
  ): readonly SocketAddress[] | undefined {
    const first = parseAddress(address, violations.at('address'));
    const additionalAddresses = this.reading.additionalAddresses ? listed : [];
    if (additionalAddresses.length > MAX_ADDITIONAL_ADDRESSES) {
      const at = violations.at('additional_addresses');
      return at.add(`${listed.length} addresses, more than ${MAX_ADDITIONAL_ADDRESSES}`);
    }
    if (additionalAddresses.length === 0 && first !== 'unusable') return first && [first];
    const others = additionalAddresses.map(({ address: additional }, i) =>
      parseAddress(additional, violations.at('additional_addresses').index(i).at('address')),
    );
    const parsed = [first, ...others].filter((one) => one !== undefined);
    if (parsed.length < 1 + others.length) return undefined;
    const addresses = parsed.filter((one) => one !== 'unusable');
    if (addresses.length < parsed.length) this.unusable++;
    return addresses.length === 0 ? undefined : addresses;
  }

  /** Returns one object for the equal metadata of endpoints next to each other, often of the same workload. */
  private readMetadata(message: Metadata | undefined): EndpointMetadata {
    if (message === undefined) return noMetadata;
    const { filterMetadata, typedFilterMetadata } = message;
    if (filterMetadata.size + typedFilterMetadata.size === 0) return noMetadata;
    const metadata: EndpointMetadata = {
      filterMetadata: new Map(
        [...filterMetadata].map(([name, struct]) => [name, structToJson(struct)]),
      ),
      typedFilterMetadata: new Map(
        // Copied, so as not to keep the whole response.
        [...typedFilterMetadata].map(([name, { typeUrl, value }]) => [
          name,
          { typeUrl, value: Uint8Array.from(value) },
        ]),
      ),
    };
    this.lastMetadata = shareMetadata(this.lastMetadata, metadata);
    return this.lastMetadata;
  }
}

function readHashKey({ filterMetadata }: Metadata, violations: Violations): string | undefined {
  const kind = filterMetadata.get(HASH_KEY_METADATA)?.fields.get('hash_key')?.kind;
  if (kind?.$case === 'stringValue' && kind.value.length > MAX_HASH_KEY_LENGTH) {
    const at = violations.at('metadata').at('filter_metadata').key(HASH_KEY_METADATA);
    const { length } = kind.value;
    return at.at('hash_key').add(`${length} characters, more than ${MAX_HASH_KEY_LENGTH}`);
  }
  // An empty key would place all such endpoints at the same position of the ring.
  return kind?.$case === 'stringValue' && kind.value !== '' ? kind.value : undefined;
}

/** Returns the health of an endpoint; `undefined` for states in which it gets no calls (gRFCs A27, A55). */
export function parseHealthStatus(status: HealthStatusMessage): HealthStatus | undefined {
  switch (status) {
    case HealthStatusMessage.UNKNOWN:
      return 'UNKNOWN';
    case HealthStatusMessage.HEALTHY:
      return 'HEALTHY';
    case HealthStatusMessage.DRAINING:
      return 'DRAINING';
    default:
      return undefined;
  }
}
