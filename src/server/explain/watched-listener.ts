import { acquireClient } from '../acquire-client';
import { ListenerWatch } from '../listener/listener-watch';
import { chainsOf } from '../listener/usable-listener';
import { parseLiteralAddress } from '../literal-address';
import type { Handle } from '../../util/handle';
import { err, ok, type Result } from '../../util/result';

/** What a server would serve by. */
interface ServedBy {
  /** That of the Listener. */
  readonly name: string;
  /** How many filter chains it has. */
  readonly chains: number;
}

/** The Listener of an address that is watched, as by an `XdsServer` that is bound to it; nothing is listened on. */
export interface WatchedListener extends Handle {
  /** Returns what a server would serve by, or why it would not; `undefined` before either is known. */
  served(): Result<ServedBy, string> | undefined;
}

/**
 * Watches the Listener of an address, with its routes, by the bootstrap of the process.
 *
 * @returns why there is no client, otherwise.
 * @throws TypeError if the address is none.
 */
export function watchListener(caller: string, address: string): Result<WatchedListener, string> {
  const literal = parseLiteralAddress(caller, address);
  const acquired = acquireClient(literal, {});
  if (!acquired.ok) return acquired;
  const { client, listenerName: name } = acquired.value;
  let served: Result<ServedBy, string> | undefined;
  const watch = new ListenerWatch({
    ...client,
    name,
    address: literal,
    watcher: {
      onServing: (listener) =>
        (served = ok({ name: listener.name, chains: chainsOf(listener).length })),
      onRoutes: () => undefined,
      onNotServing: (reason) => (served = err(reason)),
    },
  });
  return ok({
    served: () => served,
    release() {
      watch.release();
      client.release();
    },
  });
}
