import type { Metadata } from '../generated/envoy/config/core/v3/base';
import type {
  Endpoint,
  LbEndpoint,
} from '../generated/envoy/config/endpoint/v3/endpoint_components';
import type { Violations } from '../util/violations';
import type { EndpointMetadataReader } from './endpoint-metadata-parser';
import type { HealthStatus, SocketAddress, XdsEndpoint } from './endpoints';
import { parseAddress } from './shared/address-parser';
import type { UnusableAddresses } from './unusable-addresses';

const HASH_KEY_METADATA = 'envoy.lb';

/** What is read of endpoints. */
export interface EndpointReading {
  /** Whether DRAINING endpoints are kept (gRFC A55). */
  readonly keepDraining: boolean;
  /** Whether `additional_addresses` are read (gRFC A61). */
  readonly additionalAddresses: boolean;
  /** Whether localities may have their endpoints in collections (gRFC A95). */
  readonly endpointCollections: boolean;
}

/** What the endpoints of an assignment are read with. */
export interface LbEndpointContext extends Pick<EndpointReading, 'additionalAddresses'> {
  /** The caller's business. */
  readonly health: HealthStatus;
  readonly metadataReader: EndpointMetadataReader;
  readonly unusable: UnusableAddresses;
}

/**
 * Parses an endpoint (gRFCs A27, A61, A76, A81).
 *
 * @returns `undefined` after adding a violation, and for an endpoint with no address that this client can use.
 */
export function parseLbEndpoint(
  message: LbEndpoint,
  context: LbEndpointContext,
  violations: Violations,
): XdsEndpoint | undefined {
  const { health, metadataReader } = context;
  const { hostIdentifier, loadBalancingWeight: weight = 1 } = message;
  if (weight === 0) violations.at('load_balancing_weight').add('must be at least 1, not 0');
  if (hostIdentifier?.$case !== 'endpoint') {
    violations.at('endpoint').add('field not present');
    return undefined;
  }
  const endpoint = hostIdentifier.value;
  const addresses = parseAddresses(endpoint, context, violations);
  const hashKey = message.metadata && readHashKey(message.metadata);
  const metadata = metadataReader.read(message.metadata);
  const { hostname } = endpoint;
  return addresses && { addresses, weight, health, hostname, hashKey, metadata };
}

function parseAddresses(
  { address, additionalAddresses: listed }: Endpoint,
  { unusable, additionalAddresses: isRead }: LbEndpointContext,
  violations: Violations,
): readonly SocketAddress[] | undefined {
  const at = violations.at('endpoint');
  const first = parseAddress(address, at.at('address'));
  const additionalAddresses = isRead ? listed : [];
  if (additionalAddresses.length === 0 && first !== 'unusable') return first && [first];
  const others = additionalAddresses.map(({ address: additional }, i) =>
    parseAddress(additional, at.at('additional_addresses').index(i).at('address')),
  );
  const parsed = [first, ...others].filter((one) => one !== undefined);
  if (parsed.length < 1 + others.length) return undefined;
  const addresses = parsed.filter((one) => one !== 'unusable');
  if (addresses.length < parsed.length) unusable.addEndpoint();
  return addresses.length === 0 ? undefined : addresses;
}

function readHashKey({ filterMetadata }: Metadata): string | undefined {
  const kind = filterMetadata.get(HASH_KEY_METADATA)?.fields.get('hash_key')?.kind;
  // An empty key would put every such endpoint in the same place of the ring.
  return kind?.$case === 'stringValue' && kind.value !== '' ? kind.value : undefined;
}
