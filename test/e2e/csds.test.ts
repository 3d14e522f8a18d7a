import { addAdminServicesToServer, Server, status } from '@grpc/grpc-js';
import { eventually } from '../support/eventually';
import { NODE_ID, SERVICE, simpleResources, useMesh } from '../support/mesh';
import { StatusClient, type StatusAnswer, type StatusResource } from '../support/status-client';
import { bind } from '../support/listen';

// gRFCs A38 and A40: what the process knows is read by another library with the official schema.
describe('the client status service', () => {
  const mesh = useMesh();
  let admin: Server;
  let csds: StatusClient;

  beforeEach(async () => {
    admin = new Server();
    addAdminServicesToServer(admin);
    const port = await bind(admin);
    csds = new StatusClient(`127.0.0.1:${port}`);
  });
  afterEach(() => {
    csds.close();
    admin.forceShutdown();
  });

  /** The resources of the only client, by name of their type. */
  const byType = ({ config }: StatusAnswer): Map<string, StatusResource> =>
    new Map(
      config[0]?.generic_xds_configs.map((resource) => [
        resource.type_url.split('.').at(-1) ?? '',
        resource,
      ]),
    );

  it('says nothing while there is no client', async () => {
    expect(await csds.fetch()).toMatchObject({ config: [] });
  });

  it('has every resource as it came, with its version, state and time', async () => {
    const backend = await mesh.backend('a');
    mesh.serve(simpleResources([backend.port]));
    const before = Math.floor(Date.now() / 1000);
    await mesh.client().say();
    const answer = await csds.fetch();
    expect(answer.config).toHaveLength(1);
    const [config] = answer.config;
    expect(config).toMatchObject({
      node: { id: NODE_ID, user_agent_name: 'grpc-xds (Node.js)' },
      client_scope: `xds:///${SERVICE}`,
    });
    const resources = byType(answer);
    expect([...resources.keys()].sort()).toEqual([
      'Cluster',
      'ClusterLoadAssignment',
      'Listener',
      'RouteConfiguration',
    ]);
    for (const resource of resources.values()) {
      expect(resource).toMatchObject({ client_status: 'ACKED', error_state: null });
      expect(resource.version_info).not.toBe('');
      expect(resource.last_updated?.seconds).toBeGreaterThanOrEqual(before);
      expect(resource.xds_config?.['@type']).toBe(resource.type_url);
    }
    expect(resources.get('Listener')?.xds_config).toMatchObject({
      api_listener: { api_listener: { rds: { route_config_name: `${SERVICE}-routes` } } },
    });
    const address = { socket_address: { address: '127.0.0.1', port_value: backend.port } };
    expect(resources.get('ClusterLoadAssignment')?.xds_config).toMatchObject({
      endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }],
    });
  });

  it('has a client for each target, with the resources of that target', async () => {
    const backend = await mesh.backend('a');
    mesh.serve(simpleResources([backend.port]));
    await mesh.client().say();
    mesh
      .client({}, 'xds:///other.test')
      .say()
      .catch(() => {});
    const answer = await eventually(
      () => csds.fetch(),
      ({ config }) => config.length === 2,
    );
    const namesOf = (scope: string) =>
      answer.config
        .find(({ client_scope }) => client_scope === scope)
        ?.generic_xds_configs.map(({ name }) => name)
        .sort();
    expect(namesOf(`xds:///${SERVICE}`)).toEqual(['echo', 'echo', SERVICE, `${SERVICE}-routes`]);
    expect(namesOf('xds:///other.test')).toEqual(['other.test']);
    const waiting = answer.config.flatMap((config) => config.generic_xds_configs).at(-1);
    expect(waiting).toMatchObject({
      client_status: 'REQUESTED',
      version_info: '',
      xds_config: null,
    });
    expect(mesh.controlPlane.clients()).toHaveLength(1);
  });

  it('keeps the last good version beside the one that was rejected', async () => {
    const backend = await mesh.backend('a');
    const good = simpleResources([backend.port]);
    mesh.serve(good);
    await mesh.client().say();
    const version = byType(await csds.fetch()).get('Cluster')?.version_info;
    mesh.serve({ ...good, clusters: [{ ...good.clusters[0], lb_policy: 'MAGLEV' }] });
    const rejected = await eventually(
      async () => byType(await csds.fetch()).get('Cluster'),
      (cluster) => cluster?.client_status === 'NACKED',
    );
    expect(rejected).toMatchObject({
      version_info: version,
      xds_config: { name: 'echo', lb_policy: 'ROUND_ROBIN' },
      error_state: {
        details: expect.stringContaining('lb_policy'),
        failed_configuration: { name: 'echo', lb_policy: 'MAGLEV' },
      },
    });
    expect(rejected?.error_state?.version_info).not.toBe(version);
    mesh.serve(good);
    const mended = await eventually(
      async () => byType(await csds.fetch()).get('Cluster'),
      (cluster) => cluster?.client_status === 'ACKED',
    );
    expect(mended?.error_state).toBeNull();
  });

  it('leaves out the resources themselves when asked to', async () => {
    const backend = await mesh.backend('a');
    mesh.serve(simpleResources([backend.port]));
    await mesh.client().say();
    const resources = byType(await csds.fetch({ exclude_resource_contents: true }));
    expect(resources.get('Cluster')).toMatchObject({ client_status: 'ACKED', xds_config: null });
  });

  it('answers each request of a stream with what is so by then', async () => {
    const stream = csds.stream();
    const answers: StatusAnswer[] = [];
    const ended = new Promise((resolve) => stream.on('status', resolve));
    stream.on('data', (answer) => answers.push(answer));
    const untilAnswers = (count: number) => eventually(() => answers.length, count);
    stream.write({});
    await untilAnswers(1);
    const backend = await mesh.backend('a');
    mesh.serve(simpleResources([backend.port]));
    await mesh.client().say();
    stream.write({});
    stream.write({});
    await untilAnswers(3);
    expect(answers.map(({ config }) => config.length)).toEqual([0, 1, 1]);
    stream.end();
    expect(await ended).toMatchObject({ code: status.OK });
  });
});
