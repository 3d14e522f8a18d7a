import { errorMessage } from '../../util/error-message';
import { labelOf } from '../dump/dump';
import { type CliIo, exitCode, untilInterrupted } from '../io';
import { RawAdsServer } from '../record/raw-ads-server';
import { readRecording } from '../record/recording';
import { planReplay, type ReplayStep } from '../record/replay-steps';
import { Replayer } from '../record/replayer';
import { greet, type ListenFlags } from './record';

/** Flags of `replay`. */
export interface ReplayFlags extends ListenFlags {
  /** Ends when every response was sent and answered. */
  readonly once?: boolean;
}

/**
 * Serves the responses of a recording until interrupted, and reports where a client answers them otherwise than the recorded
 * one.
 *
 * @returns the exit code: findings, if an answer was another, or a response was not requested.
 */
export async function replay(file: string, flags: ReplayFlags, io: CliIo): Promise<number> {
  const recording = readRecording(file);
  if (!recording.ok) {
    io.printError(recording.error);
    return exitCode.badInput;
  }
  const state = { differences: 0, end: () => {} };
  const ended = new Promise<void>((resolve) => (state.end = resolve));
  const replayer: Replayer = new Replayer(planReplay(recording.value), {
    onSent: (step) => io.print(`sent ${nameOf(step)}`),
    onAnswered(step, answer, isSame) {
      const word = answer.kind === 'ack' ? 'accepted' : `REJECTED: ${answer.error}`;
      io.print(`${nameOf(step)} ${word}${isSame ? '' : `; recorded: ${step.answer?.kind ?? ''}`}`);
      if (!isSame) state.differences++;
      if (flags.once === true && replayer.left.length === 0) state.end();
    },
    onRefused: (reason) => {
      state.differences++;
      io.printError(reason);
    },
  });
  const server = new RawAdsServer((method, call) => replayer.accept(method, call));
  try {
    const port = await server.listen(flags.host, flags.port);
    greet(`Replaying ${file}`, flags.host, port, io);
  } catch (error) {
    io.printError(errorMessage(error));
    return exitCode.badInput;
  }
  await Promise.race([untilInterrupted(io), ended]);
  server.close();
  for (const step of replayer.left) io.print(`${nameOf(step)} was not requested or not answered`);
  const isSame = state.differences === 0 && replayer.left.length === 0;
  return isSame ? exitCode.fine : exitCode.findings;
}

function nameOf({ type, version }: ReplayStep): string {
  return `${labelOf(type)} response${version === '' ? '' : ` version ${version}`}`;
}
