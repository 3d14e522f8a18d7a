import { listenerKind, type Snapshot } from 'grpc-xds/control-plane';
import { joinHostPort } from '../../../src/util/text';
import { Listener } from '../../../src/wire/generated/envoy/config/listener/v3/listener';

/** Returns the names of the Listeners for clients, and the addresses of those for servers with their names. */
export function readListeners(snapshot: Snapshot): {
  readonly targets: readonly string[];
  readonly servers: readonly string[];
} {
  const targets: string[] = [];
  const servers: string[] = [];
  for (const { name, value } of snapshot.set(listenerKind).byName.values()) {
    const address = socketAddressOf(value);
    if (address === undefined) targets.push(name);
    else servers.push(`${address}, by the Listener ${JSON.stringify(name)}`);
  }
  return { targets, servers };
}

/** Returns where the server of a Listener listens; `undefined` of one for clients, and of one that is malformed. */
function socketAddressOf(value: Uint8Array): string | undefined {
  try {
    const { apiListener, address } = Listener.decode(value);
    if (apiListener !== undefined || address?.address?.$case !== 'socketAddress') return undefined;
    const { address: host, portSpecifier } = address.address.value;
    return portSpecifier?.$case === 'portValue'
      ? joinHostPort(host, portSpecifier.value)
      : undefined;
  } catch {
    // A finding of its own.
    return undefined;
  }
}
