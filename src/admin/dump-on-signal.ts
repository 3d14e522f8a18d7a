import { writeFile } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../util/clock';
import { errorMessage } from '../util/error-message';
import { createHandle, type Handle } from '../util/handle';
import type { Logger } from '../util/logger';
import type { InspectReport } from './inspect-report';

/** The environment of a dump. */
interface DumpEnvironment {
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Writes a report to a new file in the folder for temporary files, readable by this user alone, whenever the process
 * receives a signal. The path is logged.
 *
 * @returns a handle that ends it.
 */
export function dumpOnSignal(
  signal: NodeJS.Signals,
  report: () => InspectReport,
  { clock, logger }: DumpEnvironment,
): Handle {
  const dump = () => {
    const path = join(tmpdir(), `grpc-xds-${process.pid}-${clock.now()}.json`);
    const text = `${JSON.stringify(report(), undefined, 2)}\n`;
    writeFile(path, text, { mode: 0o600, flag: 'wx' }, (error) =>
      logger.error(() =>
        error === null
          ? `${signal}: wrote the state of the xDS client to ${path}`
          : `${signal}: cannot write the state of the xDS client to ${path}: ${errorMessage(error)}`,
      ),
    );
  };
  process.on(signal, dump);
  return createHandle(() => process.off(signal, dump));
}
