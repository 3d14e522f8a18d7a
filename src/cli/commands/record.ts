import { errorMessage } from '../../util/errors';
import { labelOf } from '../dump/dump';
import { bootstrapOf } from '../dump/read-source';
import { exitCode, untilInterrupted, loadClient, type CliIo } from '../io';
import { joinHostPort, RawAdsServer, Recorder } from '../record/recorder';
import { RecordingWriter, readRecording, type Frame } from '../record/recording';
import { planReplay, Replayer, type ReplayStep } from '../record/replayer';

/** Flags of every command that listens. */
export interface ListenFlags {
  readonly port: number;
  readonly host: string;
}

/** Flags of `record`. */
export interface RecordFlags extends ListenFlags {
  /** The file of a bootstrap, or the URI of a server without credentials. */
  readonly upstream?: string;
  /** Where the frames are written. */
  readonly output: string;
}

/**
 * Passes the streams of clients on to a management server and records them until interrupted.
 *
 * @returns the exit code: bad input, if the bootstrap, the file or the address cannot be used.
 */
export async function record(flags: RecordFlags, io: CliIo): Promise<number> {
  const { clock, env } = io;
  const { upstream } = flags;
  const connected = loadClient().connectUpstream(originOf(upstream), { clock, env });
  if (!connected.ok) {
    io.printError(connected.error);
    return exitCode.badInput;
  }
  const { serverUri, transport } = connected.value;
  const counts = { request: 0, response: 0 };
  try {
    const writer = new RecordingWriter(flags.output);
    const recorder = new Recorder({
      ...{ upstream: transport, clock },
      onFrame: (frame) => {
        if (!writer.write(frame)) return;
        counts[frame.direction]++;
        io.print(formatFrame(frame));
      },
      onClosed: (stream, { code, details }) =>
        io.print(`stream ${stream} was ended by ${serverUri}: status ${code} ${details}`.trimEnd()),
    });
    const server = new RawAdsServer((method, call) => recorder.accept(method, call));
    const port = await server.listen(flags.host, flags.port);
    greet(`Recording ${serverUri} to ${flags.output}`, flags.host, port, io);
    const problem = await Promise.race([untilInterrupted(io), writer.failed]);
    server.close();
    writer.close();
    if (problem !== undefined) io.printError(problem);
    io.print(`${counts.request} requests, ${counts.response} responses`);
    return problem === undefined ? exitCode.fine : exitCode.badInput;
  } catch (error) {
    io.printError(errorMessage(error));
    return exitCode.badInput;
  } finally {
    transport.close();
  }
}

function originOf(
  upstream: string | undefined,
): Parameters<ReturnType<typeof loadClient>['connectUpstream']>[0] {
  if (upstream === undefined) return { kind: 'environment' };
  if (upstream.endsWith('.json')) return { kind: 'file', path: upstream };
  return bootstrapOf(upstream, 'grpc-xds');
}

function formatFrame({ t, stream, direction, type, bytes }: Frame): string {
  const arrow = direction === 'request' ? '->' : '<-';
  return `${(t / 1000).toFixed(3)} stream ${stream} ${arrow} ${labelOf(type)} ${bytes.length} bytes`;
}

/** Prints what a server does, and the bootstrap for its clients. */
function greet(text: string, host: string, port: number, io: CliIo): void {
  const address = joinHostPort(host, port);
  const server = { server_uri: address, channel_creds: [{ type: 'insecure' }] };
  const bootstrap = { xds_servers: [server], node: { id: 'my-client' } };
  io.print(`${text}, on ${address}`);
  io.print(`  export GRPC_XDS_BOOTSTRAP_CONFIG='${JSON.stringify(bootstrap)}'`);
}

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
