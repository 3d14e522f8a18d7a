import { errorMessage } from '../../util/errors';
import { containLogger, silentLogger, type Logger } from '../../util/logger';
import { exitCode, loadClient, untilInterrupted, type CliIo } from '../io';

/** Flags of `relay`. */
export interface RelayFlags {
  /** `unix:/path`, or a loopback address and a port. */
  readonly listen: string;
}

/**
 * Relays the resources of the management servers of the environment's bootstrap to the clients of this machine until
 * interrupted, and their load reports to the servers.
 *
 * @returns the exit code; a bootstrap or an address that cannot be used is bad input.
 */
export async function relay({ listen }: RelayFlags, io: CliIo): Promise<number> {
  const log = (text: string) => {
    const time = new Date(io.clock.now()).toISOString().slice(11, 19);
    return `${time}Z ${text}`;
  };
  const logger: Logger = containLogger({
    ...silentLogger,
    info: (text) => io.print(log(text())),
    error: (text) => io.printError(log(text())),
  });
  try {
    const options = { listen, env: io.env, clock: io.clock, logger };
    const started = new (loadClient().loadRelay().Relay)(options);
    const address = await started.start();
    io.print(`Relaying on ${address}`);
    io.print(`Bootstrap for clients: "server_uri": ${JSON.stringify(address)}`);
    await untilInterrupted(io);
    io.print(log('stopping'));
    await started.stop();
    return exitCode.fine;
  } catch (error) {
    io.printError(`error: ${errorMessage(error)}`);
    return exitCode.badInput;
  }
}
