import { readBootstrapFile } from '../../bootstrap/load-bootstrap';
import { inspect, type TargetReport } from '../../index';
import { Channel, credentials } from '../../grpc-js';
import { register } from '../../register';
import { createXdsChannelCredentials } from '../../security/client/xds-channel-credentials';
import { errorMessage } from '../../util/error-message';
import { createHandle, type Handle } from '../../util/handle';
import { err, ok, type Result } from '../../util/result';
import type { BootstrapOrigin } from './bootstrap-origin';

/** A channel for a target, which connects to endpoints and sends no calls. */
export interface WatchedChannel extends Handle {
  /** Connects again if the channel has become idle. @returns the state of the target. */
  report(): TargetReport | undefined;
}

/**
 * Opens a channel for a target in this process, with the credentials that the control plane configures, or else none.
 *
 * @returns the channel, or why the bootstrap cannot be read or the target is not one.
 */
export function watchChannel(
  target: string,
  bootstrap: BootstrapOrigin,
): Result<WatchedChannel, string> {
  try {
    const given = readOrigin(bootstrap);
    register({ ...(given !== undefined && { bootstrap: given }), logger: { log() {} } });
    const fallback = credentials.createInsecure();
    const channel = new Channel(target, createXdsChannelCredentials(fallback), {});
    const close = createHandle(() => channel.close());
    return ok({
      report() {
        channel.getConnectivityState(true);
        return inspect({ target }).targets[0];
      },
      release: () => close.release(),
    });
  } catch (error) {
    return err(errorMessage(error));
  }
}

function readOrigin(origin: BootstrapOrigin): string | undefined {
  switch (origin.kind) {
    case 'file':
      return readBootstrapFile(origin.path);
    case 'object':
      return JSON.stringify(origin.json);
    case 'environment':
      return undefined;
  }
}
