import { inspect, type TargetReport } from 'grpc-xds';
import { watchListener, type BootstrapOrigin, type SocketListener } from 'grpc-xds/internal';
import { errorMessage } from '../../../../src/util/errors';
import { SERVER_TARGET } from '../../../../src/util/report-targets';
import { err, ok, type Result } from '../../../../src/util/result';
import { readOrigin, registerForWatch, type WatchedChannel } from './target-watch';

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
    const watched = watchListener('--server', address);
    if (!watched.ok) return watched;
    const { value: listener } = watched;
    return ok({
      report: () => describe(listener.served(), inspect({ target: SERVER_TARGET }).targets[0]),
      release: () => listener.release(),
    });
  } catch (error) {
    return err(errorMessage(error));
  }
}

/** The state of the one address, in place of that of all resources. */
function describe(
  served: Result<SocketListener, string> | undefined,
  report: TargetReport | undefined,
): ReturnType<WatchedChannel['report']> {
  if (report === undefined) return undefined;
  const rest = withoutFailure(report);
  if (served === undefined) return { ...rest, ...rolled('waiting') };
  if (!served.ok) return { ...rest, ...rolled('failed'), failure: served.error };
  const { name, filterChains, defaultFilterChain } = served.value;
  const chains = filterChains.length + (defaultFilterChain === undefined ? 0 : 1);
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
