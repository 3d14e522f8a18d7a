import { errorMessage } from '../../util/error-message';
import { labelOf } from '../dump/dump';
import { bootstrapOf } from '../dump/read-source';
import { type CliIo, exitCode, untilInterrupted } from '../io';
import { loadClient } from '../load-client';
import { RawAdsServer } from '../record/raw-ads-server';
import { Recorder } from '../record/recorder';
import { type Frame, RecordingWriter } from '../record/recording';

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
        counts[frame.direction]++;
        writer.write(frame);
        io.print(formatFrame(frame));
      },
      onClosed: (stream, { code, details }) =>
        io.print(`stream ${stream} was ended by ${serverUri}: status ${code} ${details}`.trimEnd()),
    });
    const server = new RawAdsServer((method, call) => recorder.accept(method, call));
    const port = await server.listen(flags.host, flags.port);
    greet(`Recording ${serverUri} to ${flags.output}`, flags.host, port, io);
    await untilInterrupted(io);
    server.close();
    writer.close();
    io.print(`${counts.request} requests, ${counts.response} responses`);
    return exitCode.fine;
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
export function greet(text: string, host: string, port: number, io: CliIo): void {
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  const server = { server_uri: address, channel_creds: [{ type: 'insecure' }] };
  const bootstrap = { xds_servers: [server], node: { id: 'my-client' } };
  io.print(`${text}, on ${address}`);
  io.print(`  export GRPC_XDS_BOOTSTRAP_CONFIG='${JSON.stringify(bootstrap)}'`);
}
