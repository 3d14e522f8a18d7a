import { lstatSync, rmSync, writeFile, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkArgument, type Rule } from '../../util/check-arguments';
import type { Clock } from '../../util/clock';
import { contained } from '../../util/contained';
import { errorMessage, errorStack } from '../../util/errors';
import { createHandle, type Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import type { InspectReport } from './inspect-report';

/** Signals that no process can handle. */
const UNHANDLED: ReadonlySet<string> = new Set(['SIGKILL', 'SIGSTOP']);

const SIGNAL: Rule = {
  legal: 'one of this system that a process can handle, such as SIGUSR2',
  accepts: (value) =>
    typeof value === 'string' && Object.hasOwn(constants.signals, value) && !UNHANDLED.has(value),
};

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
 * @throws XdsError if this system has no such signal.
 */
export function dumpOnSignal(
  signal: NodeJS.Signals,
  report: () => InspectReport,
  { clock, logger }: DumpEnvironment,
): Handle {
  checkArgument('dumpOnSignal()', 'signal', signal, SIGNAL);
  const onError = (error: unknown) =>
    logger.error(
      () => `${signal}: cannot describe the state of the xDS client: ${errorStack(error)}`,
    );
  const dump = contained(() => {
    const path = join(tmpdir(), `grpc-xds-${process.pid}-${clock.now()}.json`);
    const text = `${JSON.stringify(report(), undefined, 2)}\n`;
    writeFile(path, text, { mode: 0o600, flag: 'wx' }, (error) =>
      logger.error(() =>
        error === null
          ? `${signal}: wrote the state of the xDS client to ${path}`
          : `${signal}: cannot write the state of the xDS client to ${path}: ${errorMessage(error)}`,
      ),
    );
  }, onError);
  const marker = markProcess(signal);
  process.on(signal, dump);
  return createHandle(() => {
    process.off(signal, dump);
    marker.release();
  });
}

/**
 * Creates a file by which `grpc-xds dump --pid` knows that the process writes a report on a signal, and is not ended by it.
 * It is removed with the handle, or when the process ends. Where it cannot be created, the signal works without that command.
 */
function markProcess(signal: NodeJS.Signals): Handle {
  const path = join(tmpdir(), `grpc-xds-${process.pid}.${signal}`);
  const remove = () => {
    rmSync(path, { force: true });
  };
  try {
    // One of an earlier process with the same id. Of another user, it stays.
    if (lstatSync(path, { throwIfNoEntry: false })?.uid === process.getuid?.()) remove();
    writeFileSync(path, '', { mode: 0o600, flag: 'wx' });
  } catch {
    return createHandle(() => undefined);
  }
  process.once('exit', remove);
  return createHandle(() => {
    process.off('exit', remove);
    remove();
  });
}
