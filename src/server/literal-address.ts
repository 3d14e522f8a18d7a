import type { SocketAddress } from '../resources/endpoints/endpoints';
import { checkArgument, type Rule } from '../util/check-arguments';
import { parseIpPort } from '../util/host-port';
import { joinHostPort, quoteText } from '../util/text';
import { XdsError } from '../util/xds-error';

/** An address that a server can be bound to, which is also part of the name of its Listener. */
export interface LiteralAddress extends SocketAddress {
  /** Such as `10.0.0.1:50051` or `[::]:50051`. */
  readonly text: string;
}

/**
 * Parses the address of a server (gRFC A36): its Listener has this address in its name.
 *
 * @throws XdsError with the cure for host names, sockets of paths, and port 0.
 */
export function parseLiteralAddress(caller: string, text: string): LiteralAddress {
  checkArgument(caller, 'address', text, ADDRESS);
  const parsed = parseIpPort(text);
  if (parsed === undefined) {
    const cure = cureOf(text);
    throw new XdsError('XDS_OPTION_INVALID', `${caller}: cannot bind ${quoteText(text)}: ${cure}`);
  }
  const { address: host, port } = parsed;
  return { host, port, text: joinHostPort(host, port) };
}

const ADDRESS: Rule = {
  legal: 'an IP address with a port, such as 0.0.0.0:50051 or [::]:50051',
  accepts: (value) => typeof value === 'string',
};

const EXAMPLES =
  'its Listener is found by an IP address: use one with a port, such as 0.0.0.0:50051 or [::]:50051';

function cureOf(text: string): string {
  // The same address with a port of 1.
  const [, withoutPort, digits] = /^(.*:)(\d{1,5})$/.exec(text) ?? [];
  if (digits !== undefined && parseIpPort(`${withoutPort}1`) !== undefined)
    return 'the port must be from 1 to 65535: the Listener is found by it';
  return /^unix(?:-abstract)?:/.test(text)
    ? 'xDS servers have no sockets of paths: use a Server of @grpc/grpc-js for it'
    : EXAMPLES;
}
