import { Channel, credentials } from '@grpc/grpc-js';
import {
  inspect,
  type TargetReport,
  register,
  shutdown,
  createXdsChannelCredentials,
} from 'grpc-xds';
import { readBootstrapFile, type BootstrapOrigin } from 'grpc-xds/internal';
import { errorMessage } from '../../../../src/util/errors';
import { createHandle, type Handle } from '../../../../src/util/handle';
import { err, ok, type Result } from '../../../../src/util/result';

/** The state of a target, or of an address of a server. */
export interface WatchReport extends TargetReport {
  /** What a server at the address has; absent without one. */
  readonly served?: string;
}

/** A channel for a target, which connects to endpoints and sends no calls. */
export interface WatchedChannel extends Handle {
  /** Connects again if the channel has become idle. @returns the state of the target. */
  report(): WatchReport | undefined;
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
    registerForWatch(given);
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

/** Registers without log lines, in place of an earlier watch: a command has one at a time. */
export function registerForWatch(bootstrap: string | undefined): void {
  void shutdown({ timeoutMs: 0 });
  register({ ...(bootstrap !== undefined && { bootstrap }), logger: { log() {} } });
}

/** Returns the bootstrap as a text; `undefined` for that of the environment. */
export function readOrigin(origin: BootstrapOrigin): string | undefined {
  switch (origin.kind) {
    case 'file':
      return readBootstrapFile(origin.path);
    case 'object':
      return JSON.stringify(origin.json);
    case 'environment':
      return undefined;
  }
}
