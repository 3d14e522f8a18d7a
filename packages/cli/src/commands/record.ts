import { failureText } from '../failure-text';
import { err, ok, type Result } from '../../../../src/util/result';
import { StatusCode } from '../../../../src/util/status-code';
import { labelOf } from '../dump/dump';
import { bootstrapOf } from '../dump/read-source';
import { readInput } from '../input';
import {
  exitCode,
  untilInterrupted,
  loadClient,
  printEvent,
  formatOf,
  type CliIo,
  type OutputFlags,
} from '../io';
import { openOutputFile } from '../output-file';
import { RawAdsServer, Recorder } from '../record/recorder';
import { endOf, RecordingWriter, parseRecording, type Frame } from '../record/recording';
import { planReplay, Replayer, type ReplayStep } from '../record/replayer';
import { joinHostPort } from '../../../../src/util/text';

/** Flags of every command that listens. */
export interface ListenFlags {
  readonly port: number;
  readonly host: string;
}

/** Flags of `record`. */
export interface RecordFlags extends ListenFlags, OutputFlags {
  /** The file of a bootstrap, or the URI of a server without credentials. */
  readonly upstream?: string;
  /** The same as the argument. */
  readonly to?: string;
  /** Replaces an existing file. */
  readonly force?: boolean;
  /** Continues the recording in an existing file. */
  readonly append?: boolean;
}

/**
 * Passes the streams of clients on to a management server and records them until interrupted.
 *
 * @returns the exit code: bad input, if the bootstrap, the file or the address cannot be used; unreachable, if the server never
 * was reached.
 */
export async function record(
  argument: string | undefined,
  flags: RecordFlags,
  io: CliIo,
): Promise<number> {
  const path = argument ?? flags.to;
  if (path === undefined || (argument !== undefined && flags.to !== undefined)) {
    io.printError(
      'error: give one file for the recording: npx grpc-xds-cli record FILE, or --to FILE',
    );
    return exitCode.badInput;
  }
  if (flags.force === true && flags.append === true) {
    io.printError('error: give --force to replace the file, or --append to continue it, not both');
    return exitCode.badInput;
  }
  const { clock, env } = io;
  const { upstream } = flags;
  const connected = loadClient().connectUpstream(originOf(upstream), { clock, env });
  if (!connected.ok) {
    const source =
      upstream === undefined ? 'bootstrap of the environment' : `--upstream ${upstream}`;
    io.printError(`${source}: ${connected.error}`);
    return exitCode.badInput;
  }
  const { serverUri, transport } = connected.value;
  try {
    const writer = await openRecording(path, flags, io);
    if (!writer.ok) {
      io.printError(writer.error);
      return exitCode.badInput;
    }
    return await new Recording(path, writer.value, flags, io).run(serverUri, transport);
  } finally {
    transport.close();
  }
}

/** Opens the file of a recording; with `--append`, one that is in it is continued. */
async function openRecording(
  path: string,
  { force, append }: RecordFlags,
  io: CliIo,
): Promise<Result<RecordingWriter, string>> {
  const text = append === true ? await readInput(path, io) : err('');
  const frames = text.ok && text.value !== '' ? parseRecording(path, text.value) : undefined;
  if (frames?.ok === false) return frames;
  const alternative = '--append continues it';
  const opened = openOutputFile(path, { force, append, isPrivate: true, alternative });
  if (!opened.ok) return opened;
  return ok(new RecordingWriter(path, opened.value, frames && endOf(frames.value)));
}

type UpstreamTransport = Extract<
  ReturnType<ReturnType<typeof loadClient>['connectUpstream']>,
  { readonly ok: true }
>['value']['transport'];

/** One run of `record`. */
class Recording {
  private readonly counts = { request: 0, response: 0 };
  /** Why the server could not be reached, the last time. */
  private unreachable: string | undefined;

  constructor(
    private readonly path: string,
    private readonly writer: RecordingWriter,
    private readonly flags: RecordFlags,
    private readonly io: CliIo,
  ) {}

  async run(serverUri: string, transport: UpstreamTransport): Promise<number> {
    const { io, flags, writer } = this;
    const recorder = new Recorder({
      upstream: transport,
      clock: io.clock,
      onFrame: (frame) => this.onFrame(frame),
      onClosed: (stream, { code, details }) => {
        if (code === StatusCode.UNAVAILABLE) this.unreachable = details;
        const event = { event: 'closed', stream, code, details };
        const text = `stream ${stream} was ended by ${serverUri}: status ${code} ${details}`;
        printEvent(event, flags, io, () => text.trimEnd());
      },
    });
    const server = new RawAdsServer(io, (method, call) => recorder.accept(method, call));
    const port = await listen(server, flags, io);
    if (port === undefined) {
      writer.close();
      return exitCode.badInput;
    }
    greet(`Recording ${serverUri} to ${this.path}`, port, flags, io);
    const problem = await untilInterrupted(io, writer.failed);
    server.close();
    writer.close();
    return this.sumUp(problem, serverUri);
  }

  private onFrame(frame: Frame): void {
    if (!this.writer.write(frame)) return;
    this.counts[frame.direction]++;
    const { t, stream, direction, type, bytes } = frame;
    const event = { event: 'frame', t, stream, direction, type, bytes: bytes.length };
    printEvent(event, this.flags, this.io, () => formatFrame(frame));
  }

  private sumUp(problem: string | undefined, serverUri: string): number {
    const { counts, io, flags, unreachable } = this;
    const text = `${counts.request} requests, ${counts.response} responses`;
    printEvent({ event: 'end', ...counts }, flags, io, () => text);
    if (problem !== undefined) {
      io.printError(`${problem}; make room, and continue with --append`);
      return exitCode.badInput;
    }
    if (counts.response > 0 || unreachable === undefined) return exitCode.fine;
    io.printError(
      `${serverUri}: nothing was received: ${unreachable}; check --upstream with npx grpc-xds-cli doctor`,
    );
    return exitCode.unreachable;
  }
}

/** Starts to listen. @returns the port; `undefined` after printing why the address cannot be used. */
async function listen(
  server: RawAdsServer,
  { host, port }: ListenFlags,
  io: CliIo,
): Promise<number | undefined> {
  try {
    return await server.listen(host, port);
  } catch (error) {
    io.printError(`${failureText(error)}; --port and --host choose another address`);
    return undefined;
  }
}

function originOf(
  upstream: string | undefined,
): Parameters<ReturnType<typeof loadClient>['connectUpstream']>[0] {
  if (upstream === undefined) return { kind: 'environment', otherwise: 'pass --upstream' };
  if (upstream.endsWith('.json')) return { kind: 'file', path: upstream };
  return bootstrapOf(upstream, 'grpc-xds');
}

function formatFrame({ t, stream, direction, type, bytes }: Frame): string {
  const arrow = direction === 'request' ? '->' : '<-';
  return `${(t / 1000).toFixed(3)} stream ${stream} ${arrow} ${labelOf(type)} ${bytes.length} bytes`;
}

/** Prints what a server does, and the bootstrap for its clients. */
function greet(text: string, port: number, flags: ListenFlags & OutputFlags, io: CliIo): void {
  const address = joinHostPort(flags.host, port);
  const server = { server_uri: address, channel_creds: [{ type: 'insecure' }] };
  const bootstrap = { xds_servers: [server], node: { id: 'my-client' } };
  printEvent({ event: 'listening', address, bootstrap }, flags, io, () => `${text}, on ${address}`);
  if (formatOf(flags) !== 'table') return;
  io.print(`  export GRPC_XDS_BOOTSTRAP_CONFIG='${JSON.stringify(bootstrap)}'`);
}

/** Flags of `replay`. */
export interface ReplayFlags extends ListenFlags, OutputFlags {
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
  const text = await readInput(file, io);
  const recording = text.ok ? parseRecording(file, text.value) : err(`${file}: ${text.error}`);
  if (!recording.ok) {
    io.printError(recording.error);
    return exitCode.badInput;
  }
  const state = { differences: 0, end: () => {} };
  const ended = new Promise<void>((resolve) => (state.end = resolve));
  const print = (event: string, step: ReplayStep, line: string, more: object = {}) =>
    printEvent({ event, ...describe(step), ...more }, flags, io, () => line);
  const replayer: Replayer = new Replayer(planReplay(recording.value), {
    onSent: (step) => print('sent', step, `sent ${nameOf(step)}`),
    onAnswered(step, answer, isSame) {
      const word = answer.kind === 'ack' ? 'accepted' : `REJECTED: ${answer.error}`;
      const recorded = isSame ? '' : `; recorded: ${step.answer?.kind ?? ''}`;
      print('answered', step, `${nameOf(step)} ${word}${recorded}`, { answer, isSame });
      if (!isSame) state.differences++;
      if (flags.once === true && replayer.left.length === 0) state.end();
    },
    onRefused: (reason) => {
      state.differences++;
      io.printError(`${file}: ${reason}; set the client to the variant of the recording`);
    },
  });
  const server = new RawAdsServer(io, (method, call) => replayer.accept(method, call));
  const port = await listen(server, flags, io);
  if (port === undefined) return exitCode.badInput;
  greet(`Replaying ${file}`, port, flags, io);
  await untilInterrupted(io, ended);
  server.close();
  for (const step of replayer.left) {
    print('left', step, `${nameOf(step)} was not requested or not answered`);
  }
  const isSame = state.differences === 0 && replayer.left.length === 0;
  return isSame ? exitCode.fine : exitCode.findings;
}

function describe({ type, version }: ReplayStep): object {
  return { type: labelOf(type), version };
}

function nameOf({ type, version }: ReplayStep): string {
  return `${labelOf(type)} response${version === '' ? '' : ` version ${version}`}`;
}
