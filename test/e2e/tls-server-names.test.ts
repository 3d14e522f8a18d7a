// A hostname of an endpoint that changes while the endpoint stays (gRFC A101): what its server has to prove changes with it.

import { credentials } from '@grpc/grpc-js';
import { createXdsChannelCredentials, registerLbPolicy } from '../../src';
import { turns } from '../lb/custom/support';
import type { EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { simpleResources, registerAnew, useMesh } from '../support/mesh';
import { TestCertificates } from '../support/test-certificates';
import { TlsBackend, type ConnectionFacts } from '../support/tls-backend';
import { edsClusterJson, type Json } from '../support/xds-json';
import { bootstrapWithFiles, useFolder, verifiedTls } from '../support/tls';

const TYPE = 'type.googleapis.com/envoy.extensions';
const certificates = new TestCertificates();
const root = certificates.authority('root');
const server = root.sign('server', { names: ['DNS:a.example', 'DNS:b.example'] });

const inEnvoy = (name: string, type: string, extra: Json = {}): Json => ({
  typed_extension_config: {
    name,
    typed_config: { '@type': `${TYPE}.load_balancing_policies.${name}.v3.${type}`, ...extra },
  },
});
const roundRobin = { policies: [inEnvoy('round_robin', 'RoundRobin')] };
const ofApplication = (name: string): Json => ({
  typed_extension_config: {
    name,
    typed_config: {
      '@type': 'type.googleapis.com/xds.type.v3.TypedStruct',
      type_url: `type.googleapis.com/${name}`,
      value: {},
    },
  },
});

const POLICIES: readonly [string, Json][] = [
  ['round_robin', inEnvoy('round_robin', 'RoundRobin')],
  ['pick_first', inEnvoy('pick_first', 'PickFirst')],
  ['ring_hash', inEnvoy('ring_hash', 'RingHash', { hash_function: 'XX_HASH' })],
  ['least_request', inEnvoy('least_request', 'LeastRequest')],
  [
    'client_side_weighted_round_robin',
    inEnvoy('client_side_weighted_round_robin', 'ClientSideWeightedRoundRobin'),
  ],
  ['wrr_locality', inEnvoy('wrr_locality', 'WrrLocality', { endpoint_picking_policy: roundRobin })],
  [
    'random_subsetting',
    inEnvoy('random_subsetting', 'RandomSubsetting', { subset_size: 2, child_policy: roundRobin }),
  ],
  ['a policy of the application', ofApplication('acme.v1.Turns')],
];

describe('an endpoint whose hostname changes, under', () => {
  const mesh = useMesh();
  const folder = useFolder();
  let backend: TlsBackend;
  let client: EchoClient;

  beforeAll(() => {
    folder.write('ca.pem', root.certificate);
    registerLbPolicy(turns);
  });
  afterAll(() => certificates.close());
  beforeEach(async () => {
    backend = await TlsBackend.start(server);
    const files = { mesh: { ca_certificate_file: folder.path('ca.pem') } };
    registerAnew({ bootstrap: bootstrapWithFiles(mesh.address, files) });
  });
  afterEach(() => backend.stop());

  function serve(policy: Json, hostname: string): void {
    const sni = { auto_host_sni: true, auto_sni_san_validation: true };
    const transport_socket = verifiedTls('mesh', [], sni);
    const extra = { transport_socket, load_balancing_policy: { policies: [policy] } };
    const address = { socket_address: { address: '127.0.0.1', port_value: backend.port } };
    mesh.serve({
      ...simpleResources([backend.port]),
      clusters: [edsClusterJson('echo', extra)],
      endpoints: [
        {
          cluster_name: 'echo',
          endpoints: [
            {
              locality: { zone: 'a' },
              load_balancing_weight: 1,
              lb_endpoints: [{ endpoint: { hostname, address } }],
            },
          ],
        },
      ],
    });
  }

  const connection = async () => (JSON.parse(await client.say()) as ConnectionFacts).connection;

  // 1. The certificate is for the name. 2. It is for another one, too, which is a new connection. 3. It is the same name in
  // another form. 4. The certificate is not for the name.
  it.each(POLICIES)('%s, has to prove the new name', async (_name, policy) => {
    const xds = createXdsChannelCredentials(credentials.createInsecure());
    client = mesh.client({}, undefined, xds);
    serve(policy, 'a.example');
    const first = await connection();
    serve(policy, 'b.example');
    const second = await eventually(connection, (one) => one !== first);
    serve(policy, 'b.example:443');
    for (let call = 0; call < 5; call++) expect(await connection()).toBe(second);
    serve(policy, 'c.example');
    const details = await eventually(
      () =>
        client.failure().then(
          (failure) => failure.details,
          () => '',
        ),
      (text) => text !== '',
    );
    expect(details).toContain('do not include the server name "c.example"');
  });
});
