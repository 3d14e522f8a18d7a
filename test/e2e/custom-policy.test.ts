import { registerLbPolicy } from '../../src';
import { turns } from '../lb/custom/support';
import { simpleResources, useMesh } from '../support/mesh';
import { edsClusterJson } from '../support/xds-json';

/** A cluster whose policy is named by a TypedStruct (gRFC A52). */
function clusterWithPolicy(typeUrl: string): ReturnType<typeof edsClusterJson> {
  const typedConfig = {
    '@type': 'type.googleapis.com/xds.type.v3.TypedStruct',
    type_url: typeUrl,
    value: {},
  };
  return edsClusterJson('echo', {
    load_balancing_policy: {
      policies: [{ typed_extension_config: { name: 'custom', typed_config: typedConfig } }],
    },
  });
}

describe('a load-balancing policy of the application', () => {
  const mesh = useMesh();

  it('chooses the backends of the clusters that name it', async () => {
    registerLbPolicy(turns);
    const backends = [await mesh.backend('b1'), await mesh.backend('b2')];
    const resources = simpleResources(backends.map(({ port }) => port));
    mesh.serve({ ...resources, clusters: [clusterWithPolicy('type.example/acme.v1.Turns')] });
    const client = mesh.client();
    const answers = new Set<string>();
    while (answers.size < 2) answers.add(await client.say());
    const [first, second] = [await client.say(), await client.say()];
    expect([first, second].sort()).toEqual(['b1', 'b2']);
  });

  it('is a reason to reject the cluster if nobody registered it', async () => {
    mesh.serve({ ...simpleResources([1]), clusters: [clusterWithPolicy('x/acme.v1.Missing')] });
    const { details } = await mesh.client().failure();
    expect(details).toContain('load_balancing_policy');
    expect(details).toContain('acme.v1.Missing');
  });
});
