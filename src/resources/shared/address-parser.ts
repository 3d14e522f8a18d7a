import { isIP } from 'node:net';
import type { Address } from '../../wire/generated/envoy/config/core/v3/address';
import { quoteText } from '../../util/cut-text';
import type { Violations } from '../../util/violations';
import type { SocketAddress } from '../endpoints/endpoints';

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
  if (address === undefined) return violations.add('field not present');
  const specifier = address.address;
  if (specifier === undefined) return violations.at('socket_address').add('field not present');
  if (specifier.$case !== 'socketAddress') return 'unusable';
  const { address: host, portSpecifier } = specifier.value;
  const port = portSpecifier?.$case === 'portValue' ? portSpecifier.value : undefined;
  const isLiteral = isIP(host) !== 0;
  if (isLiteral && port !== undefined && port <= MAX_PORT) return { host, port };
  const at = violations.at('socket_address');
  if (!isLiteral) {
    at.at('address').add(`must be a literal IP address, not ${quoteText(host)}`);
  }
  if (port === undefined) at.at('port_value').add('field not present');
  else if (port > MAX_PORT) at.at('port_value').add(`must not exceed ${MAX_PORT}, but is ${port}`);
  return undefined;
}
