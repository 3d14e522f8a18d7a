import { loadBootstrap } from '../../src/bootstrap/load-bootstrap';
import { eventually } from '../support/eventually';
import { bootstrapFor, Mesh, simpleResources, registerAnew } from '../support/mesh';

const server = (uri: string, features: readonly string[] = []) => ({
  server_uri: uri,
  channel_creds: [{ type: 'insecure' }],
  server_features: features,
});
const support = {
  channelCreds: new Set(['insecure']),
  callCreds: new Set<string>(),
  certificateProviders: new Set<string>(),
};

function load(inline: object, relay: string | undefined) {
  return loadBootstrap({ inline, support, env: { GRPC_XDS_RELAY: relay } });
}

function serversOf(inline: object, relay: string | undefined): object {
  const loaded = load(inline, relay);
  if (!loaded.ok) throw new Error(loaded.error.message);
  const { servers, authorities } = loaded.value;
  const shown = (list: typeof servers) =>
    list.map(({ serverUri, features }) => [serverUri, ...features].join(' '));
  return {
    servers: shown(servers),
    ...Object.fromEntries([...authorities].map(([name, each]) => [name, shown(each.servers)])),
  };
}

describe('the relay of a host', () => {
  const bootstrap = {
    xds_servers: [server('a:1', ['ignore_resource_deletion']), server('b:1')],
    authorities: { own: { xds_servers: [server('c:1')] }, none: {} },
  };

  it.each(['unix:/run/relay.sock', 'unix:///run/relay.sock', '127.0.0.1:5', '[::1]:5'])(
    '%s comes before the servers, of each authority as well',
    (relay) => {
      const first = `${relay} ignore_resource_deletion grpc_xds_relay`;
      expect(serversOf(bootstrap, relay)).toEqual({
        servers: [first, 'a:1 ignore_resource_deletion', 'b:1'],
        own: [`${relay} grpc_xds_relay`, 'c:1'],
        none: [first, 'a:1 ignore_resource_deletion', 'b:1'],
      });
    },
  );

  it.each([undefined, ''])('is none if the variable is %p', (relay) => {
    expect(serversOf(bootstrap, relay)).toMatchObject({ own: ['c:1'] });
  });

  it.each([
    '10.0.0.1:5',
    'dns:///relay:5',
    'unix:relay.sock',
    '/run/relay.sock',
    'unix:',
    'unix-abstract:relay',
    'unix://host/relay.sock',
    'unix:@relay',
  ])('%s is refused: the connection is not encrypted', (relay) => {
    const loaded = load(bootstrap, relay);
    expect(loaded.ok ? '' : loaded.error.message).toBe(
      `xDS bootstrap cannot be used: GRPC_XDS_RELAY must be unix:/path, or an address of this host such as 127.0.0.1:18001, not "${relay}"`,
    );
  });

  it('changes nothing of what is wrong with a bootstrap', () => {
    for (const wrong of [{}, { xds_servers: [] }, { xds_servers: 5 }, { authorities: 5 }]) {
      const [plain, relayed] = [load(wrong, undefined), load(wrong, '127.0.0.1:5')];
      expect(relayed).toEqual(plain);
    }
  });
});

describe('a client with a relay', () => {
  let mesh: Mesh;
  let relay: Mesh;
  beforeEach(async () => {
    mesh = await Mesh.start();
    relay = await Mesh.start();
    process.env['GRPC_XDS_RELAY'] = relay.address;
    registerAnew({ bootstrap: bootstrapFor(mesh.address) });
  });
  afterEach(() => {
    delete process.env['GRPC_XDS_RELAY'];
    relay.stop();
    mesh.stop();
    registerAnew({});
  });

  it('uses it, the server while it is gone, and it again', async () => {
    const [a, b] = [await mesh.backend('server'), await mesh.backend('relay')];
    mesh.serve(simpleResources([a.port]));
    relay.serve(simpleResources([b.port]));
    const answers = () => mesh.client().say();
    expect(await answers()).toBe('relay');
    relay.killControlPlane();
    // What is cached stays in use (gRFC A71); something new is asked of the server.
    const other = 'other.test:50051';
    const named = JSON.parse(
      JSON.stringify(simpleResources([a.port])).replaceAll('echo.test:50051', other),
    ) as ReturnType<typeof simpleResources>;
    mesh.serve(named);
    expect(await mesh.client({}, `xds:///${other}`).say()).toBe('server');
    await relay.restartControlPlane(simpleResources([b.port]));
    await eventually(answers, (answer) => answer === 'relay');
  });
});
