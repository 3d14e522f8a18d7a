import { isIPv6 } from 'node:net';
import { err, ok, type Result } from '../util/result';
import { joinHostPort } from '../util/text';
import type { Bootstrap } from './bootstrap';
import { percentEncodePath } from './resource-template';

const TEMPLATE = 'server_listener_resource_name_template';

/**
 * Returns the name of the Listener resource of an address of a server (gRFC A36): the template of the bootstrap with
 * `address:port` for each `%s`.
 *
 * @param address A literal IP address. An IPv6 address is written in its shortest form, in brackets.
 * @returns the name, or an error text: there is no default for the template.
 */
export function serverListenerName(
  {
    source,
    serverListenerResourceNameTemplate: template,
  }: Pick<Bootstrap, 'source' | 'serverListenerResourceNameTemplate'>,
  address: string,
  port: number,
): Result<string, string> {
  if (template === undefined) {
    return err(
      `the bootstrap ${source} has no ${TEMPLATE}, by which the Listener of an xDS server is named: add it, such as "xds.istio.io/grpc/lds/inbound/%s" for Istio`,
    );
  }
  const listening = joinHostPort(shortest(address), port);
  const name = template.startsWith('xdstp:') ? percentEncodePath(listening) : listening;
  // A function, because `$&` is special in a string.
  return ok(template.replaceAll('%s', () => name));
}

/** The shortest form is that of a URL, except for a zone and an IPv4-mapped address, which stay as they are. */
function shortest(address: string): string {
  if (!isIPv6(address) || /[%.]/.test(address)) return address;
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}
