// What a peer sends on the streams beside calls and discovery: streams of load reports, of either kind, and the admin services.

import {
  connect,
  type ClientHttp2Session,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import {
  addAdminServicesToServer,
  getChannelzServiceDefinition,
  Server,
  status,
} from '@grpc/grpc-js';
import { OrcaReporter } from '../../src/orca';
import { csdsDefinition } from '../../src/observe/admin/csds';
import { eventually } from '../support/eventually';
import { bootstrapFor, Mesh, registerAnew, simpleResources } from '../support/mesh';
import { RawBackend } from '../support/raw-backend';
import { edsClusterJson, lbPolicyJson } from '../support/xds-json';
import { FastClock } from '../support/fast-clock';
import { bind } from '../support/listen';

const LRS = '/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats';
const ORCA = '/xds.service.orca.v3.OpenRcaService/StreamCoreMetrics';

/** A message with the flag of compression, or without. */
const message = (isCompressed: boolean, ...bytes: readonly number[]) =>
  Buffer.from([Number(isCompressed), 0, 0, 0, bytes.length, ...bytes]);
const NOT_GZIP = message(true, 1, 2, 3, 4);
/** Ends in the middle of a number. */
const NOT_PROTOBUF = message(false, 0xff, 0xff, 0xff, 0xff);

type Answer = (stream: ServerHttp2Stream) => void;

const OK = { ':status': 200, 'content-type': 'application/grpc' };
const sends =
  (bytes: Buffer, headers: OutgoingHttpHeaders = {}): Answer =>
  (stream) => {
    stream.respond({ ...OK, ...headers });
    stream.write(bytes);
  };
const endsWith =
  (headers: OutgoingHttpHeaders): Answer =>
  (stream) =>
    stream.respond({ ...OK, ...headers }, { endStream: true });

/** A server that answers the streams of one method, and passes the others on to another server. */
class Front {
  /** How many streams it has answered. */
  answered = 0;
  private readonly upstream: ClientHttp2Session;
  private readonly server: RawBackend;

  constructor(to: string, path: string, answer: Answer) {
    this.upstream = connect(`http://${to}`);
    this.upstream.on('error', () => {});
    this.server = new RawBackend((stream, headers) => {
      if (headers[':path'] !== path) {
        this.pass(stream, headers);
        return;
      }
      this.answered++;
      answer(stream);
    });
  }

  listen(): Promise<number> {
    return this.server.listen();
  }

  close(): void {
    this.upstream.destroy();
    this.server.close();
  }

  private pass(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const passed = this.upstream.request(headers);
    let trailers: OutgoingHttpHeaders = {};
    passed.on('error', () => {});
    passed.on('response', (response) => stream.respond(response, { waitForTrailers: true }));
    passed.on('trailers', (received) => (trailers = received));
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    stream.pipe(passed).pipe(stream);
  }
}

const cluster = edsClusterJson('echo', {
  lrs_server: { self: {} },
  load_balancing_policy: lbPolicyJson(
    'client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin',
    { enable_oob_load_report: true },
  ),
});

const cleanUp: (() => void)[] = [];
afterEach(() => {
  for (const task of cleanUp.splice(0).reverse()) task();
});

describe('a client whose load reports are answered with', () => {
  it.each<[string, Answer]>([
    ['a compressed message without grpc-encoding', sends(NOT_GZIP)],
    ['a compressed message of an unknown encoding', sends(NOT_GZIP, { 'grpc-encoding': 'br' })],
    ['a compressed message that is not', sends(NOT_GZIP, { 'grpc-encoding': 'gzip' })],
    ['a message that cannot be decoded', sends(NOT_PROTOBUF)],
    ['a status without details', endsWith({ 'grpc-status': '13' })],
    ['a status that is no number', endsWith({ 'grpc-status': 'NaN' })],
    ['a status of 1e308', endsWith({ 'grpc-status': '1e308' })],
    ['a negative status', endsWith({ 'grpc-status': '-7' })],
    ['no status', endsWith({})],
  ])('%s serves on, logs it once, and tries again', async (_case, answer) => {
    // The pauses between attempts are seconds.
    const clock = new FastClock(10);
    cleanUp.push(() => clock.stop());
    const log: string[] = [];
    const error = (line: string) => void log.push(line);
    const mesh = await Mesh.start();
    cleanUp.push(() => mesh.stop());
    const { port } = await mesh.backend('a');
    const reports = new Front(`127.0.0.1:${port}`, ORCA, answer);
    const loads = new Front(mesh.address, LRS, answer);
    cleanUp.push(() => [reports, loads].forEach((each) => each.close()));
    mesh.serve({ ...simpleResources([await reports.listen()]), clusters: [cluster] });
    const logger = { error, info: error, debug: () => {} };
    registerAnew({ bootstrap: bootstrapFor(`127.0.0.1:${await loads.listen()}`), logger });
    const client = mesh.client();
    expect(await client.say()).toBe('a');
    await eventually(
      () => [reports, loads].map(({ answered }) => answered),
      (counts) => counts.every((count) => count >= 2),
    );
    expect(await client.say()).toBe('a');
    expect(log.sort()).toEqual([
      expect.stringMatching(/^Backend 127\.0\.0\.1:\d+/),
      expect.stringMatching(/^Load reports: management server 127\.0\.0\.1:\d+/),
    ]);
  });
});

describe('a server', () => {
  let address: string;
  beforeEach(async () => {
    const mesh = await Mesh.start();
    cleanUp.push(() => mesh.stop());
    const server = new Server();
    cleanUp.push(() => server.forceShutdown());
    addAdminServicesToServer(server);
    new OrcaReporter().addTo(server);
    address = `127.0.0.1:${await bind(server)}`;
  });

  /** Calls a method with one message. @returns the status. */
  async function call(path: string, bytes: Buffer, more: OutgoingHttpHeaders): Promise<number> {
    const session = connect(`http://${address}`);
    const headers = { ':path': path, ':method': 'POST', 'content-type': 'application/grpc' };
    const stream = session.request({ ...headers, te: 'trailers', ...more });
    stream.on('error', () => {});
    const code = await new Promise<number>((resolve) => {
      const settle = ({ 'grpc-status': given }: OutgoingHttpHeaders) => {
        if (given !== undefined) resolve(Number(given));
      };
      stream
        .on('response', settle)
        .on('trailers', settle)
        .on('data', () => resolve(status.OK));
      stream.end(bytes);
    });
    session.destroy();
    return code;
  }

  const METHODS: readonly (readonly [name: string, path: string])[] = [
    ...Object.entries(csdsDefinition).map(([name, { path }]) => [name, path] as const),
    ['GetServers', getChannelzServiceDefinition().GetServers.path],
    ['StreamCoreMetrics', ORCA],
  ];

  it.each(METHODS)(
    'fails a call of %s whose message is malformed, and serves the next one',
    async (_, path) => {
      const codes = [
        await call(path, NOT_GZIP, {}),
        await call(path, NOT_GZIP, { 'grpc-encoding': 'br' }),
        await call(path, NOT_GZIP, { 'grpc-encoding': 'gzip' }),
        await call(path, NOT_PROTOBUF, {}),
      ];
      expect(codes).not.toContain(status.OK);
      expect(await call(path, message(false), {})).toBe(status.OK);
    },
  );
});
