// A cluster with a transport_socket, whose server speaks TLS, under channels without xDS credentials.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { credentials, ServerCredentials, setLogger, setLogVerbosity } from '@grpc/grpc-js';
import { explainCall } from '../../src';
import { logVerbosity, Status } from '../../src/grpc-js';
import { DiagnosticRecorder } from '../support/diagnostic-recorder';
import type { EchoBackend } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { NODE_ID, SERVICE, simpleResources, useSharedMesh } from '../support/mesh';
import { edsClusterJson, type Json } from '../support/xds-json';
import { upstreamTls } from '../support/tls';

const read = (name: string) =>
  readFileSync(join(__dirname, '../security/credentials/certificates', name));

const transportSocket = upstreamTls({ validation_context: { system_root_certs: {} } });

/** The cluster `echo`, with TLS. */
const resources = (port: number, extra: Json = {}) => ({
  ...simpleResources([port]),
  clusters: [edsClusterJson('echo', { transport_socket: transportSocket, ...extra })],
});

describe('a cluster with a transport_socket', () => {
  const mesh = useSharedMesh();
  let backend: EchoBackend;
  let lines: string[];

  beforeAll(async () => {
    const pairs = [{ cert_chain: read('server.pem'), private_key: read('server.key') }];
    backend = await mesh.backend('secured', ServerCredentials.createSsl(null, pairs));
    lines = [];
    setLogger({ error: (line: string) => void lines.push(line) });
    setLogVerbosity(logVerbosity.ERROR);
  });

  afterAll(() => setLogVerbosity(logVerbosity.NONE));

  const reported = () => lines.filter((line) => line.includes('xds: Cluster "echo"'));

  it('is named in the failed calls of an insecure channel, and logged once over several updates', async () => {
    const recorder = new DiagnosticRecorder('grpc-xds:tls-not-used', 'grpc-xds:config-published');
    mesh.serve(resources(backend.port));
    const client = mesh.client();
    const { code, details } = await client.failure();
    expect(code).toBe(Status.UNAVAILABLE);
    expect(details).toMatch(/^Cluster "echo": No connection established\. Last error: /);
    expect(details).toContain(
      "Resolution note: the cluster configures TLS, the channel's credentials are insecure",
    );
    expect(backend.calls).toBe(0);
    for (const max_requests of [5, 6]) {
      const before = recorder.events.length;
      mesh.serve(resources(backend.port, { circuit_breakers: { thresholds: [{ max_requests }] } }));
      await eventually(
        () => recorder.events.slice(before).map(([name]) => name),
        (names) => names.includes('grpc-xds:config-published'),
      );
      expect((await client.failure()).details).toContain('are insecure');
    }
    expect(String(explainCall(`xds:///${SERVICE}`, '/echo.Echo/Say'))).toContain(
      'Cluster "echo": without effect: transport_socket: the cluster configures TLS, the channel\'s credentials are insecure',
    );
    const reports = recorder.take().filter(([name]) => name === 'grpc-xds:tls-not-used');
    expect(reports).toEqual([['grpc-xds:tls-not-used', { nodeId: NODE_ID, cluster: 'echo' }]]);
    expect(reported()).toEqual([
      expect.stringContaining(
        `xds: Cluster "echo" (node "${NODE_ID}"): the cluster configures TLS, the channel's credentials are insecure: `,
      ),
    ]);
  });

  it('is reported as not under xDS credentials where the application has TLS credentials, whose calls succeed', async () => {
    lines.splice(0);
    mesh.serve(resources(backend.port));
    const client = mesh.client(
      { 'grpc.ssl_target_name_override': 'localhost' },
      undefined,
      credentials.createSsl(read('ca.pem')),
    );
    expect(await client.say()).toBe('secured');
    expect(reported()).toEqual([
      expect.stringContaining(
        "the cluster configures TLS, the channel's credentials are not xDS credentials: ",
      ),
    ]);
  });
});
