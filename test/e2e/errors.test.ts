import { Metadata, status, type ServiceError } from '@grpc/grpc-js';
import type { EchoBackend, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { NODE_ID, SERVICE, simpleResources, useMesh } from '../support/mesh';

describe('while a listener that was good is taken away', () => {
  const mesh = useMesh();
  let backend: EchoBackend;
  let client: EchoClient;

  const outcome = () => client.say().catch((error: ServiceError) => error);

  beforeEach(async () => {
    backend = await mesh.backend('b1');
    mesh.serve(simpleResources([backend.port]));
    client = mesh.client();
    expect(await client.say()).toBe('b1');
    mesh.serve({ ...simpleResources([backend.port]), listeners: [] });
    await eventually(outcome, (last) => typeof last !== 'string');
  });

  it('calls fail with who has taken away what, until it is back', async () => {
    const { code, details } = await client.failure();
    // gRFC A54 hands this code on as it is.
    expect(code).toBe(status.UNAVAILABLE);
    for (const part of [mesh.address, NODE_ID, 'Listener', SERVICE]) {
      expect(details).toContain(part);
    }
    mesh.serve(simpleResources([backend.port]));
    await eventually(outcome, 'b1');
    expect(backend.peers.size).toBe(1);
  });

  it('a call that is told to wait goes on when it is back', async () => {
    const patient = client.say({ metadata: new Metadata({ waitForReady: true }) });
    mesh.serve(simpleResources([backend.port]));
    expect(await patient).toBe('b1');
  });
});
