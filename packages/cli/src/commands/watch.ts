import type { WatchedChannel } from '../client';
import { adminFlagSource, originOf, type ServerFlags } from '../dump/read-source';
import { err, type Result } from '../../../../src/util/result';
import { exitCode, loadClient, type CliIo } from '../io';
import { ChannelWatch, type ChannelFlags } from '../watch/channel-watch';
import { watchProcess, type ProcessFlags, type ProcessSource } from '../watch/process-watch';

/** Flags of `watch`. */
export interface WatchFlags extends ServerFlags, ChannelFlags, ProcessFlags {
  /** The address of a server, in place of a target. */
  readonly server?: string;
  /** The address of the admin services of a process. */
  readonly admin?: string;
  /** The URL of a live page. */
  readonly page?: string;
  /** The id of a process that writes its state on a signal. */
  readonly pid?: number;
}

/**
 * Opens a channel for a target, or watches what a server at an address has, and shows its state until interrupted: on a terminal as a
 * screen, otherwise as a line for each event; with `--json` as a JSON object for each. Of a process that runs, shows its calls.
 *
 * @returns the exit code: findings, if it is not ready at the end, or a process has no calls to show; unreachable, if nothing was known
 * of it in time.
 */
export async function watch(
  target: string | undefined,
  flags: WatchFlags,
  io: CliIo,
): Promise<number> {
  const conflict = findConflict(target, flags);
  if (conflict !== undefined) {
    io.printError(`error: ${conflict}`);
    return exitCode.badInput;
  }
  const process = processOf(flags);
  if (process !== undefined) return watchProcess(process, flags, io);
  const name = target ?? flags.server ?? '';
  const opened = target === undefined ? openServer(name, flags) : openTarget(name, flags, io);
  if (!opened.ok) {
    io.printError(opened.error);
    return exitCode.badInput;
  }
  return new ChannelWatch(name, opened.value, flags, io).run();
}

/** Returns why a target and flags cannot be used together. */
function findConflict(target: string | undefined, flags: WatchFlags): string | undefined {
  const { server, pid, page, admin, controlPlane, bootstrap, interval } = flags;
  const processes = namesOfGiven({ '--pid': pid, '--page': page, '--admin': admin });
  const given = [...namesOfGiven({ 'a target': target, '--server': server }), ...processes];
  if (given.length !== 1) {
    const but = given.length === 0 ? '' : `, not ${given.join(' and ')}`;
    return `give one of a target, --server, --pid, --page and --admin${but}`;
  }
  if (processes.length === 0) {
    const [name] = namesOfGiven({ '--target': flags.target, '--interval': interval });
    return name && `${name} is for a process: it needs --pid, --page or --admin`;
  }
  const [name] = namesOfGiven({ '--control-plane': controlPlane, '--bootstrap': bootstrap });
  return name && `${name} is for a target or --server: the process of ${given[0]} has its own`;
}

function namesOfGiven(values: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : name));
}

function processOf({ admin, page, pid }: WatchFlags): ProcessSource | undefined {
  if (admin !== undefined) return adminFlagSource(admin);
  if (page !== undefined) return { kind: 'page', url: page };
  return pid === undefined ? undefined : { kind: 'process', pid };
}

function openServer(address: string, flags: WatchFlags): Result<WatchedChannel, string> {
  return loadClient().watchServer(address, originOf(flags));
}

function openTarget(target: string, flags: WatchFlags, io: CliIo): Result<WatchedChannel, string> {
  const client = loadClient();
  const origin = originOf(flags);
  // The channel would wait for both.
  const problem = client.findTargetProblem(target, origin, io);
  return problem === undefined ? client.watchChannel(target, origin) : err(problem);
}
