import { createServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { eventually } from '../../support/eventually';
import { Mesh, simpleResources, SERVICE } from '../../support/mesh';
import { MetricsReader, WAYS } from '../../support/metrics-reader';

jest.setTimeout(60_000);

const PREFIX = 'grpc.subchannel';
const NAMES = [
  'disconnections',
  'connection_attempts_succeeded',
  'connection_attempts_failed',
  'open_connections',
];
const labels = {
  'grpc.target': `xds:///${SERVICE}`,
  'grpc.lb.locality': '{region="test", zone="a", sub_zone=""}',
  'grpc.lb.backend_service': 'echo',
};

describe.each(WAYS)('metrics of connections with a %s', (way) => {
  let mesh: Mesh;
  let reader: MetricsReader;
  beforeEach(async () => {
    mesh = await Mesh.start();
    reader = new MetricsReader(way, {
      disableAllMetrics: true,
      enableMetrics: NAMES.map((name) => `${PREFIX}.${name}`),
      optionalLabels: [
        'grpc.lb.locality',
        'grpc.lb.backend_service',
        'grpc.disconnect_error',
        'grpc.security_level',
      ],
    });
  });
  afterEach(async () => {
    mesh.stop();
    await reader.stop();
  });

  const series = async (name: string) =>
    (await reader.series(`${PREFIX}.${name}`)).map((one) => [one.labels, one.value]);

  it('counts a connection once for the channels of a target, and its end by GOAWAY', async () => {
    const backend = await mesh.backend('one');
    mesh.serve(simpleResources([backend.port]));
    await mesh.client().say();
    await mesh.client().say();
    const open = { ...labels, 'grpc.security_level': 'none' };
    expect(await series('connection_attempts_succeeded')).toEqual([[labels, 1]]);
    expect(await series('open_connections')).toEqual([[open, 1]]);
    expect(await series('disconnections')).toEqual([]);
    await backend.drain();
    await eventually(
      () => series('open_connections'),
      ([first]) => first?.[1] === 0,
    );
    const goaway = { ...labels, 'grpc.disconnect_error': 'GOAWAY NO_ERROR' };
    expect(await series('disconnections')).toEqual([[goaway, 1]]);
    // Nothing listens any more.
    await eventually(
      () => series('connection_attempts_failed'),
      ([first]) => Number(first?.[1]) >= 1,
    );
    expect(await series('connection_attempts_succeeded')).toEqual([[labels, 1]]);
  });

  it.each<[string, (session: ServerHttp2Session, socket: Socket) => void]>([
    ['GOAWAY ENHANCE_YOUR_CALM', (session) => session.goaway(11)],
    ['unknown', (_session, socket) => void socket.destroy()],
  ])('counts the loss of a connection by %s', async (reason, end) => {
    const sessions: ServerHttp2Session[] = [];
    let socket: Socket | undefined;
    let streams = 0;
    const server = createServer()
      .on('connection', (accepted: Socket) => (socket = accepted))
      .on('session', (session) => sessions.push(session))
      .on('stream', () => streams++);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    mesh.serve(simpleResources([port]));
    const client = mesh.client();
    const call = client.failure({ deadlineMs: 5000 });
    await eventually(
      () => series('open_connections'),
      ([first]) => first?.[1] === 1 && streams > 0,
    );
    const [session] = sessions;
    if (session === undefined || socket === undefined) throw new Error('not connected');
    end(session, socket);
    await eventually(
      () => series('disconnections'),
      (all) => all.length > 0,
    );
    const [lost] = await series('disconnections');
    expect(lost).toEqual([{ ...labels, 'grpc.disconnect_error': reason }, 1]);
    client.close();
    await call;
    for (const each of sessions) each.destroy();
    server.close();
  });

  it('counts the connections of a closed channel as closed', async () => {
    const backend = await mesh.backend('one');
    mesh.serve(simpleResources([backend.port]));
    const client = mesh.client();
    await client.say();
    client.close();
    const closed = { ...labels, 'grpc.disconnect_error': 'subchannel shutdown' };
    await eventually(
      () => series('disconnections'),
      (all) => all.length > 0,
    );
    expect(await series('disconnections')).toEqual([[closed, 1]]);
    expect((await series('open_connections'))[0]?.[1]).toBe(0);
  });
});
