import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ChildState, inspect, type PolicyState } from '../../src';
import { eventually } from '../support/eventually';
import { NODE_ID, SERVICE, simpleResources, useMesh } from '../support/mesh';
import { edsClusterJson, endpointsJson } from '../support/xds-json';

const TARGET = `xds:///${SERVICE}`;

describe('inspect', () => {
  const mesh = useMesh();

  it('reports a target from its config to each endpoint', async () => {
    const [a, b] = [await mesh.backend('a'), await mesh.backend('b')];
    mesh.serve(simpleResources([a.port, b.port]));
    await mesh.client().say();
    const read = () => inspect({ target: TARGET });
    const { targets, schema } = await eventually(read, ({ targets: [target] }) =>
      leavesOf(target?.policies).every(({ state }) => state === 'READY'),
    );
    expect(schema).toBe(1);
    expect(targets).toHaveLength(1);
    expect(targets[0]).toMatchObject({
      target: TARGET,
      nodeId: NODE_ID,
      state: 'ready',
      waitingFor: [],
      config: {
        listener: SERVICE,
        routeConfig: `${SERVICE}-routes`,
        routes: 1,
        clusters: [{ name: 'echo' }],
      },
      policies: { policy: 'xds_cluster_manager_experimental', state: 'READY' },
      servers: [{ serverUri: mesh.address, state: 'open' }],
    });
    const names = targets[0]?.resources.map(
      ({ type, name, status }) => `${type} ${name} ${status}`,
    );
    expect(names?.sort()).toEqual([
      'Cluster echo ACKED',
      'ClusterLoadAssignment echo ACKED',
      `Listener ${SERVICE} ACKED`,
      `RouteConfiguration ${SERVICE}-routes ACKED`,
    ]);
    expect(policiesOf(targets[0]?.policies)).toContainEqual({
      policy: 'xds_cluster_impl_experimental',
      details: { cluster: 'echo', callsInFlight: 0, maxRequests: 1024 },
    });
    expect(
      leavesOf(targets[0]?.policies)
        .flatMap(({ addresses }) => addresses)
        .sort(),
    ).toEqual([`127.0.0.1:${a.port}`, `127.0.0.1:${b.port}`].sort());
    // Plain JSON: what is parsed again is the same.
    expect(JSON.parse(JSON.stringify(targets))).toEqual(targets);
  });

  it('has the calls of each endpoint, and their latency once a report was made', async () => {
    const backend = await mesh.backend('a');
    mesh.serve(simpleResources([backend.port]));
    const client = mesh.client();
    await client.say();
    const endpoint = () => leavesOf(inspect({ target: TARGET }).targets[0]?.policies)[0];
    const first = endpoint();
    expect(first).toMatchObject({ callsInFlight: 0 });
    expect(first).not.toHaveProperty('latencyMs');
    await client.say();
    const second = endpoint();
    expect(second).toMatchObject({ callsInFlight: 0 });
    expect(second?.latencyMs).toBeGreaterThan(0);
  });

  it('has what channelz knows of the channels of a target', async () => {
    const backend = await mesh.backend('a');
    mesh.serve(simpleResources([backend.port]));
    const client = mesh.client();
    await client.say();
    await client.say();
    const [channel, ...others] = inspect({ target: TARGET }).targets[0]?.channels ?? [];
    expect(others).toEqual([]);
    expect(channel).toMatchObject({
      state: 'READY',
      calls: { started: 2, succeeded: 2, failed: 0 },
      subchannels: [
        {
          address: `127.0.0.1:${backend.port}`,
          state: 'READY',
          calls: { started: 2, succeeded: 2, failed: 0 },
          sockets: [{ streams: { started: 2 }, messagesSent: 2, messagesReceived: 2 }],
        },
      ],
    });
    expect(channel?.calls.lastStartedAt).toMatch(/^\d{4}-\d\d-\d\dT/);
  });

  it('has the last changes, a rejection beside the value in use, and the errors of endpoints', async () => {
    const backend = await mesh.backend('a');
    mesh.serve(simpleResources([backend.port]));
    await mesh.client().say();
    mesh.serve({
      ...simpleResources([backend.port]),
      clusters: [edsClusterJson('echo', { lb_policy: 'MAGLEV' })],
      endpoints: [endpointsJson('echo', [{ zone: 'a', ports: [backend.port, 1] }])],
    });
    const target = await eventually(
      () => inspect({ target: TARGET }).targets[0],
      (report) =>
        report?.resources.some(({ status }) => status === 'NACKED') === true &&
        leavesOf(report.policies).some(({ error }) => error !== undefined),
    );
    const cluster = target?.resources.find(({ type }) => type === 'Cluster');
    expect(cluster).toMatchObject({
      status: 'NACKED',
      version: expect.any(String) as string,
      failure: { details: expect.stringContaining('MAGLEV') as string },
    });
    expect(target?.changes).toContainEqual(
      expect.objectContaining({
        type: 'ClusterLoadAssignment',
        name: 'echo',
        kind: 'accepted',
        text: expect.stringContaining('added') as string,
      }),
    );
    expect(target?.changes.at(-1)?.at).toMatch(/^\d{4}-\d\d-\d\dT/);
    const failing = leavesOf(target?.policies).find(({ error }) => error !== undefined);
    expect(failing).toMatchObject({ addresses: ['127.0.0.1:1'], state: 'TRANSIENT_FAILURE' });
  });

  it('includes the contents of resources if asked to, up to a size', async () => {
    const backend = await mesh.backend('a');
    mesh.serve(simpleResources([backend.port]));
    await mesh.client().say();
    const contents = (maxBytes?: number) =>
      inspect({ contents: true, ...(maxBytes !== undefined && { maxBytes }) }).targets[0]
        ?.resources;
    expect(contents()?.find(({ type }) => type === 'Cluster')?.contents).toMatchObject({
      name: 'echo',
      type: 'EDS',
    });
    const leftOut = contents(10)?.map((resource) => resource.contents);
    expect(leftOut).toEqual(Array(4).fill(expect.stringMatching(/^left out: \d+ bytes/)));
    expect(inspect().targets[0]?.resources[0]).not.toHaveProperty('contents');
  });

  it('has how the value of a resource differs from the one before, if contents are included', async () => {
    const backend = await mesh.backend('a');
    const resources = simpleResources([backend.port]);
    mesh.serve(resources);
    await mesh.client().say();
    mesh.serve({ ...resources, clusters: [edsClusterJson('echo', { lb_policy: 'RING_HASH' })] });
    mesh.serve({ ...resources, clusters: [edsClusterJson('echo', { lb_policy: 'MAGLEV' })] });
    const changes = (contents: boolean) =>
      inspect({ target: TARGET, contents }).targets[0]?.changes.filter(
        ({ type }) => type === 'Cluster',
      ) ?? [];
    const rejected = await eventually(
      () => changes(true),
      (all) => all.some(({ kind }) => kind === 'rejected'),
    );
    expect(rejected[0]).not.toHaveProperty('diff');
    expect(rejected.at(-1)?.diff).toContainEqual(
      expect.objectContaining({ kind: 'changed', path: 'lb_policy', after: 'MAGLEV' }),
    );
    for (const change of changes(false)) expect(change).not.toHaveProperty('diff');
  });

  it('reports why calls fail, and nothing of a target that no channel uses', async () => {
    const backend = await mesh.backend('a');
    mesh.serve(simpleResources([backend.port]));
    await mesh.client().say();
    mesh.serve({ ...simpleResources([backend.port]), listeners: [] });
    const read = () => inspect({ target: TARGET }).targets;
    expect(await eventually(read, ([target]) => target?.state !== 'ready')).toMatchObject([
      { state: 'failed', failure: expect.stringContaining(`Listener "${SERVICE}"`) as string },
    ]);
    expect(inspect({ target: 'xds:///another' }).targets).toEqual([]);
  });
});

describe('dumpOnSignal', () => {
  let folder: string;
  let child: ChildProcessWithoutNullStreams;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'dump-'));
    const runner = join(__dirname, '../support/run-typescript.cjs');
    const script = join(__dirname, 'children/dump-on-signal.ts');
    const env = { ...process.env, TMPDIR: folder, GRPC_VERBOSITY: 'ERROR' };
    child = spawn(process.execPath, ['--require', runner, script], { env });
  });
  afterEach(() => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  });

  it('writes a report that only its user can read, and logs the path', async () => {
    let log = '';
    child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
    await once(child.stdout, 'data');
    child.kill('SIGUSR2');
    await eventually(
      () => log,
      (text) => text.includes('SIGUSR2'),
    );
    const [name = ''] = readdirSync(folder);
    expect(name).toMatch(new RegExp(`^grpc-xds-${child.pid}-\\d+\\.json$`));
    const path = join(folder, name);
    expect(log).toContain(`SIGUSR2: wrote the state of the xDS client to ${path}`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ schema: 1, pid: child.pid });
  });
});

function leavesOf(policy: PolicyState | undefined): NonNullable<PolicyState['endpoints']> {
  if (policy === undefined) return [];
  const below = (policy.children ?? []).flatMap((child: ChildState) => leavesOf(child));
  return [...(policy.endpoints ?? []), ...below];
}

function policiesOf(policy: PolicyState | undefined): readonly unknown[] {
  if (policy === undefined) return [];
  const { policy: name, details, children = [] } = policy;
  return [{ policy: name, details }, ...children.flatMap((child) => policiesOf(child))];
}
