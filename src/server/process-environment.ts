import type { ServerEnvironment } from './server-environment';
import type { LiteralAddress } from './literal-address';
import type { XdsOptions } from './xds-server-options';

/** Acquires what an address of a server uses of the process, and the name of its Listener. */
export function acquireEnvironment(
  options: Pick<XdsOptions, 'bootstrap' | 'listenerName'> & { readonly address: LiteralAddress },
): { readonly environment: ServerEnvironment; readonly name: string } {
  throw new Error(String(options));
}
