import { inspect, type TargetReport } from 'grpc-xds';
import {
  type SocketListener,
  acquireClient,
  chainsOf,
  ListenerWatch,
  parseLiteralAddress,
} from 'grpc-xds/internal';
import { SERVER_TARGET } from '../../../../src/util/report-targets';
import { errorMessage } from '../../../../src/util/errors';
import { err, ok, type Result } from '../../../../src/util/result';
import type { BootstrapOrigin } from './client-parts';
import { readOrigin, registerForWatch, type WatchedChannel } from './target-watch';

/** What a server would have. */
type Served = Result<SocketListener, string>;

/**
 * Watches the Listener of an address, with its routes, as an `XdsServer` does that is bound to it; nothing is listened on.
 *
 * @returns the watch, or why the bootstrap cannot be read or has no template for servers, or the address is none.
 */
export function watchServer(
  address: string,
  bootstrap: BootstrapOrigin,
): Result<WatchedChannel, string> {
  try {
    registerForWatch(readOrigin(bootstrap));
    const literal = parseLiteralAddress('--server', address);
    const acquired = acquireClient(literal, {});
    if (!acquired.ok) return acquired;
    const { client, listenerName: name } = acquired.value;
    let served: Served | undefined;
    const watch = new ListenerWatch({
      ...{ ...client, name, address: literal },
      watcher: {
        onServing: (listener) => (served = ok(listener)),
        onRoutes: () => undefined,
        onNotServing: (reason) => (served = err(reason)),
      },
    });
    return ok({
      report: () => describe(served, inspect({ target: SERVER_TARGET }).targets[0]),
      release() {
        watch.release();
        client.release();
      },
    });
  } catch (error) {
    return err(errorMessage(error));
  }
}

/** The state of the one address, in place of that of all resources. */
function describe(
  served: Served | undefined,
  report: TargetReport | undefined,
): ReturnType<WatchedChannel['report']> {
  if (report === undefined) return undefined;
  const rest = withoutFailure(report);
  if (served === undefined) return { ...rest, ...rolled('waiting') };
  if (!served.ok) return { ...rest, ...rolled('failed'), failure: served.error };
  const { name } = served.value;
  const chains = chainsOf(served.value).length;
  const counted = chains === 1 ? '1 filter chain' : `${chains} filter chains`;
  return { ...rest, ...rolled('ready'), served: `Listener ${JSON.stringify(name)}: ${counted}` };
}

function rolled(state: TargetReport['state']): Pick<TargetReport, 'state' | 'rollUp'> {
  const rollUp = state === 'failed' ? 'failing' : state;
  return { state, rollUp: { state: rollUp, text: rollUp } };
}

/** The failure of the shared client may be that of another resource. */
function withoutFailure({
  failure: _failure,
  failingSince: _since,
  ...rest
}: TargetReport): Omit<TargetReport, 'failure' | 'failingSince'> {
  return rest;
}
