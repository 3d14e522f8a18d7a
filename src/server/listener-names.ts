import type { ServerClient } from '../runtime/server-client';
import { createHandle, type Handle } from '../util/handle';
import { describeResource } from '../xds-client/xds-errors';
import type { LiteralAddress } from './literal-address';

/** An address of a server, and the name of its Listener. */
interface NamedAddress {
  readonly address: LiteralAddress;
  readonly listenerName: string;
  readonly client: Pick<ServerClient, 'client' | 'logger'>;
}

/** The addresses that servers of the process are bound to, by the name of their Listener, of each client. */
const addressesOfClients = new WeakMap<object, Map<string, Set<NamedAddress>>>();

/**
 * Records the name of the Listener of an address until the handle is released, and logs when a second address gets the same name, as by a
 * template without `%s`: a Listener is for one address (gRFC A36), so that the others are not served.
 */
export function recordListenerName(named: NamedAddress): Handle {
  const { address, listenerName: name, client } = named;
  const byName = addressesOfClients.get(client.client) ?? new Map<string, Set<NamedAddress>>();
  addressesOfClients.set(client.client, byName);
  const others = byName.get(name) ?? new Set();
  const texts = new Set([...others].map((other) => other.address.text));
  const [other] = texts;
  if (other !== undefined && other !== address.text && texts.size === 1) {
    const listener = describeResource({ typeName: 'Listener', name });
    client.logger.error(
      () =>
        `server ${address.text}: ${listener}: also that of ${other}, and a Listener is for one address: give each a name of its own, by %s in server_listener_resource_name_template of the bootstrap or by the option listenerName`,
      { name },
    );
  }
  byName.set(name, others.add(named));
  return createHandle(() => {
    others.delete(named);
    if (others.size === 0 && byName.get(name) === others) byName.delete(name);
  });
}
