import { isIP } from 'node:net';
import type { Address } from '../../generated/envoy/config/core/v3/address';
import type { Metadata } from '../../generated/envoy/config/core/v3/base';
import { HealthStatus as HealthStatusMessage } from '../../generated/envoy/config/core/v3/health_check';
import type {
  Endpoint,
  LbEndpoint,
} from '../../generated/envoy/config/endpoint/v3/endpoint_components';
import type { Violations } from '../../util/violations';
import { structToJson } from '../shared/struct-json-parser';
import {
  noMetadata,
  sameMetadata,
  type HealthStatus,
  type SocketAddress,
  type XdsEndpoint,
  type EndpointMetadata,
} from './endpoints';

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

/**
 * Reads the metadata of the endpoints of an assignment, one after the other. Those next to each other, often of the
 * same workload, share one object if theirs says the same.
 */
export class EndpointMetadataReader {
  private last = noMetadata;

  /** Takes whatever there is; nothing in it can be wrong. */
  read(message: Metadata | undefined): EndpointMetadata {
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
    if (!sameMetadata(this.last, metadata)) this.last = metadata;
    return this.last;
  }
}

/** The highest port number. */
export const MAX_PORT = 65_535;

/**
 * Parses an address that needs no name resolution (gRFC A27).
 *
 * @returns `'unusable'` for a valid address of another kind: a unix socket or an internal listener of Envoy (see
 * docs/decisions/0014-unusable-addresses.md); `undefined` after adding a violation.
 */
export function parseAddress(
  address: Address | undefined,
  violations: Violations,
): SocketAddress | 'unusable' | undefined {
  if (address === undefined) {
    violations.add('field not present');
    return undefined;
  }
  const specifier = address.address;
  if (specifier === undefined) {
    violations.at('socket_address').add('field not present');
    return undefined;
  }
  if (specifier.$case !== 'socketAddress') return 'unusable';
  const { address: host, portSpecifier } = specifier.value;
  const port = portSpecifier?.$case === 'portValue' ? portSpecifier.value : undefined;
  const isLiteral = isIP(host) !== 0;
  if (isLiteral && port !== undefined && port <= MAX_PORT) return { host, port };
  const at = violations.at('socket_address');
  if (!isLiteral) {
    at.at('address').add(`must be a literal IP address, not ${JSON.stringify(host)}`);
  }
  if (port === undefined) at.at('port_value').add('field not present');
  else if (port > MAX_PORT) at.at('port_value').add(`must not exceed ${MAX_PORT}, but is ${port}`);
  return undefined;
}

/** The state in this client's terms; `undefined` for states in which an endpoint gets no calls (gRFCs A27, A55). */
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

/** Counts the endpoints of one resource that have an address of a kind that this client cannot use. */
export class UnusableAddresses {
  private endpoints = 0;

  /** Counts one endpoint, however many such addresses it has. */
  addEndpoint(): void {
    this.endpoints++;
  }

  /** How many there are; `undefined` if there are none, as resources spell it. */
  get count(): number | undefined {
    return this.endpoints === 0 ? undefined : this.endpoints;
  }
}

/** Describes the addresses that were left out of a resource; `undefined` if none was. */
export function describeUnusable(count: number | undefined): string | undefined {
  if (count === undefined) return undefined;
  const subject = count === 1 ? '1 endpoint has' : `${count} endpoints have`;
  return `${subject} an address of a kind that this client cannot use (unix socket or internal listener), skipped`;
}
