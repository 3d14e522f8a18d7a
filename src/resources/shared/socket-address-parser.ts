import { isIP } from 'node:net';
import type { Address } from '../../wire/generated/envoy/config/core/v3/address';
import { quoteText } from '../../util/text';
import type { Violations } from '../../util/violations';
import type { SocketAddress } from '../endpoints/endpoints';

/** The highest port number. */
export const MAX_PORT = 65_535;

/** What endpoints are told that have host names. */
export const HOST_NAME_ADVICE = ': a cluster of type LOGICAL_DNS may have a host name';

/** Returns a literal IP address with a port; `undefined` for any other. */
export function literalAddress(address: Address | undefined): SocketAddress | undefined {
  const specifier = address?.address;
  if (specifier?.$case !== 'socketAddress') return undefined;
  const { address: host, portSpecifier } = specifier.value;
  if (portSpecifier?.$case !== 'portValue' || portSpecifier.value > MAX_PORT) return undefined;
  return isIP(host) === 0 ? undefined : { host, port: portSpecifier.value };
}

/**
 * Parses an address that needs no name resolution (gRFC A27).
 *
 * @returns `'unusable'` for a valid address of another kind: a unix socket or an internal listener of Envoy (see
 * docs/decisions/resource-validation.md); `undefined` after adding a violation.
 */
export function parseAddress(
  address: Address | undefined,
  violations: Violations,
  hostAdvice = '',
): SocketAddress | 'unusable' | undefined {
  const literal = literalAddress(address);
  if (literal !== undefined) return literal;
  if (address === undefined) return violations.add('field not present');
  const specifier = address.address;
  const at = violations.at('socket_address');
  if (specifier === undefined) return at.add('field not present');
  if (specifier.$case !== 'socketAddress') return 'unusable';
  const { address: host, portSpecifier } = specifier.value;
  const port = portSpecifier?.$case === 'portValue' ? portSpecifier.value : undefined;
  if (isIP(host) === 0) {
    at.at('address').add(`must be a literal IP address, not ${quoteText(host)}${hostAdvice}`);
  }
  if (port === undefined) at.at('port_value').add('field not present');
  else if (port > MAX_PORT) at.at('port_value').add(`must not exceed ${MAX_PORT}, but is ${port}`);
  return undefined;
}
