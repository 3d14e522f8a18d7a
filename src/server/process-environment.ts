import { serverListenerName } from '../bootstrap/server-listener-name';
import { runtimeTemporary } from '../register';
import type { ServerEnvironment } from './server-environment';
import type { LiteralAddress } from './literal-address';
import type { XdsOptions } from './xds-server-options';

/** Acquires what an address of a server uses of the process, and the name of its Listener. */
export function acquireEnvironment({
  bootstrap,
  listenerName,
  address,
}: Pick<XdsOptions, 'bootstrap' | 'listenerName'> & { readonly address: LiteralAddress }): {
  readonly environment: ServerEnvironment;
  readonly name: string;
} {
  const got = runtimeTemporary().acquireServerTemporary(bootstrap);
  if (!got.ok) throw new Error(got.error);
  const { meter, ...others } = got.value;
  const routing = { origin: 'todo', random: others.random, meter };
  const environment = { ...others, routing };
  if (listenerName !== undefined) return { environment, name: listenerName(address.text) };
  const name = serverListenerName(others.bootstrap, address.host, address.port);
  if (name.ok) return { environment, name: name.value };
  environment.release();
  throw new Error(name.error);
}
