import { type CallExplanation, explainCall } from '../../src';
import { eventually } from '../support/eventually';
import { SERVICE, simpleResources, useMesh } from '../support/mesh';
import { edsClusterJson } from '../support/xds-json';

describe('explainCall of the package', () => {
  const mesh = useMesh();

  it('names the fields of the resources in use that have no effect on calls', async () => {
    const backend = await mesh.backend('a');
    const circuitBreakers = { thresholds: [{ maxConnections: 4 }] };
    mesh.serve({
      ...simpleResources([backend.port], { timeout: '3s' }),
      clusters: [edsClusterJson('echo', { circuitBreakers })],
    });
    await mesh.client().say();
    expect(explainCall(`xds:///${SERVICE}`, '/echo.Echo/Say')).toMatchObject({
      decisions: [{ share: 1 }],
      unusedFields: [
        {
          resource: `RouteConfiguration "${SERVICE}-routes"`,
          fields: ['virtual_hosts[0].routes[0].route.timeout'],
        },
        { resource: 'Cluster "echo"', fields: ['circuit_breakers.thresholds[0].max_connections'] },
      ],
    });
  });

  it('says why there is no routing, at each stage', async () => {
    const target = `xds:///${SERVICE}`;
    expect(explainCall('xds:///another', '/echo.Echo/Say')).toMatchObject({
      kind: 'unrouted',
      reason: expect.stringContaining('channel') as string,
    });
    const backend = await mesh.backend('a');
    mesh.serve({ ...simpleResources([backend.port]), routes: [] });
    const call = mesh.client().say();
    const explain = () => explainCall(target, '/echo.Echo/Say');
    const isAbout = (text: string) => (explanation: CallExplanation) =>
      String(explanation).includes(text);
    const waiting = await eventually(explain, isAbout(`RouteConfiguration "${SERVICE}-routes"`));
    expect(waiting).toMatchObject({
      kind: 'unrouted',
      reason: 'the channel waits for its configuration',
    });
    expect(explainCall('xds:///another', '/echo.Echo/Say')).toMatchObject({
      reason: `no channel for xds:///another is in use in this process (those in use are ${target}); a channel resolves its target when it is first used`,
    });
    mesh.serve(simpleResources([backend.port]));
    await call;
    expect(explain().kind).toBe('routed');
    mesh.serve({ ...simpleResources([backend.port]), listeners: [] });
    expect(await eventually(explain, ({ kind }) => kind === 'unrouted')).toMatchObject({
      reason: expect.stringContaining(`Listener "${SERVICE}"`) as string,
    });
  });
});
