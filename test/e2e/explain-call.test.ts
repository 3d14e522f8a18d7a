import { explainCall } from '../../src';
import { Mesh, SERVICE, simpleResources } from '../support/mesh';
import { edsClusterJson } from '../support/xds-json';

describe('explainCall of the package', () => {
  let mesh: Mesh;
  beforeEach(async () => {
    mesh = await Mesh.start();
  });
  afterEach(() => mesh.stop());

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
});
