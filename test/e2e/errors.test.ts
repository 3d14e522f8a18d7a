import { Metadata, status, type ServiceError } from '@grpc/grpc-js';
import { EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { FastClock } from '../support/fast-clock';
import {
  bootstrapFor,
  Mesh,
  NODE_ID,
  SERVICE,
  simpleResources,
  registerAnew,
} from '../support/mesh';
import { ScriptedControlPlane } from '../support/scripted-control-plane';
import { edsClusterJson, listenerJson } from '../support/xds-json';

const TARGET = `xds:///${SERVICE}`;

/** Every failure is UNAVAILABLE, which gRFC A54 hands on as it is. */
async function expectFailure(
  call: Promise<{ code: number; details: string }>,
  parts: readonly string[],
): Promise<void> {
  const { code, details } = await call;
  expect(code).toBe(status.UNAVAILABLE);
  for (const part of parts) expect(details).toContain(part);
}

/** The answer to a call, or its error. */
function outcomeOf(client: EchoClient): Promise<string | ServiceError> {
  return client.say().catch((error: ServiceError) => error);
}

/** Makes calls until one fails. @returns its error. */
async function untilFailure(client: EchoClient): Promise<ServiceError> {
  const outcome = await eventually(
    () => outcomeOf(client),
    (last) => typeof last !== 'string',
  );
  if (typeof outcome === 'string') throw new Error(`The call was answered by ${outcome}`);
  return outcome;
}

describe('a call that cannot be sent says why', () => {
  const clients: EchoClient[] = [];
  const client = (target = TARGET, bootstrap?: string): EchoClient => {
    const created = new EchoClient(target, { 'grpc_xds.bootstrap': bootstrap });
    clients.push(created);
    return created;
  };

  afterEach(() => {
    for (const created of clients.splice(0)) created.close();
    delete process.env.GRPC_XDS_BOOTSTRAP;
    delete process.env.GRPC_XDS_BOOTSTRAP_CONFIG;
  });

  it('at once when there is no bootstrap', async () => {
    registerAnew();
    const { code, details } = await client().failure();
    expect(code).toBe(status.UNAVAILABLE);
    expect(details).toContain('GRPC_XDS_BOOTSTRAP');
  });

  it('with every mistake of the bootstrap and its path', async () => {
    process.env.GRPC_XDS_BOOTSTRAP_CONFIG = '{"xds_servers": [{"channel_creds": []}], "node": 3}';
    registerAnew();
    const { code, details } = await client().failure();
    expect(code).toBe(status.UNAVAILABLE);
    expect(details).toContain('xds_servers[0].server_uri');
    expect(details).toContain('xds_servers[0].channel_creds');
    expect(details).toContain('node');
  });

  it('again after the first time: a later call gets the same reason', async () => {
    registerAnew();
    const sut = client();
    await sut.failure();
    // By then the channel has asked its resolver a second time.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const { code, details } = await sut.failure();
    expect(code).toBe(status.UNAVAILABLE);
    expect(details).toContain('GRPC_XDS_BOOTSTRAP');
  });

  it('within a second when the control plane refuses connections', async () => {
    const refused = new ScriptedControlPlane();
    const address = await refused.start();
    await refused.stop();
    registerAnew({ bootstrap: bootstrapFor(address) });
    const { code, details } = await client().failure();
    expect(code).toBe(status.UNAVAILABLE);
    for (const part of [address, NODE_ID, 'Listener', SERVICE, 'ECONNREFUSED']) {
      expect(details).toContain(part);
    }
  });

  it('within 15 s when an answer never comes: a silent server, no listener, no cluster', async () => {
    const silent = new ScriptedControlPlane();
    const silentAddress = await silent.start();
    // An incremental server would say so at once.
    const mesh = await Mesh.start([]);
    mesh.serve({ ...simpleResources([1]), clusters: [] });
    const patience = { deadlineMs: 60_000 };
    const clock = new FastClock(10);
    const withoutListener = client('xds:///missing.test').failure(patience);
    const withoutCluster = client().failure(patience);
    const bootstrap = JSON.stringify(bootstrapFor(silentAddress, []));
    const unanswered = client('xds:///silent.test', bootstrap).failure(patience);
    await Promise.all([
      expectFailure(withoutListener, [mesh.address, NODE_ID, 'Listener', 'missing.test']),
      expectFailure(withoutCluster, [mesh.address, NODE_ID, 'Cluster', '"echo"', 'within 15 s']),
      expectFailure(unanswered, [silentAddress, NODE_ID, 'Listener', 'silent.test', 'within 15 s']),
    ]);
    clock.stop();
    await silent.stop();
    mesh.stop();
  }, 90_000);

  describe('with a control plane', () => {
    let mesh: Mesh;
    beforeEach(async () => {
      mesh = await Mesh.start();
    });
    afterEach(() => {
      mesh.stop();
    });

    it('when the listener is rejected', async () => {
      const listener = listenerJson(SERVICE, 'r', { http_filters: [] });
      mesh.serve({ ...simpleResources([1]), listeners: [listener] });
      const { code, details } = await client().failure();
      expect(code).toBe(status.UNAVAILABLE);
      for (const part of [mesh.address, NODE_ID, 'Listener', SERVICE, 'http_filters']) {
        expect(details).toContain(part);
      }
    });

    it('when the cluster is rejected', async () => {
      const cluster = edsClusterJson('echo', { lb_policy: 'MAGLEV' });
      mesh.serve({ ...simpleResources([1]), clusters: [cluster] });
      const { code, details } = await client().failure();
      expect(code).toBe(status.UNAVAILABLE);
      for (const part of [mesh.address, NODE_ID, 'Cluster', 'echo', 'MAGLEV']) {
        expect(details).toContain(part);
      }
    });

    it('when no backend can be reached', async () => {
      mesh.serve(simpleResources([1]));
      const { code, details } = await client().failure();
      expect(code).toBe(status.UNAVAILABLE);
      expect(details).toContain('ECONNREFUSED');
      expect(details).toContain(NODE_ID);
    });

    it('when a listener that was good is taken away', async () => {
      const backend = await mesh.backend('b1');
      mesh.serve(simpleResources([backend.port]));
      const sut = client();
      expect(await sut.say()).toBe('b1');
      mesh.serve({ ...simpleResources([backend.port]), listeners: [] });
      const gone = await untilFailure(sut);
      expect(gone.code).toBe(status.UNAVAILABLE);
      for (const part of [mesh.address, NODE_ID, 'Listener', SERVICE]) {
        expect(gone.details).toContain(part);
      }
      mesh.serve(simpleResources([backend.port]));
      await eventually(
        () => outcomeOf(sut),
        (outcome) => outcome === 'b1',
      );
      expect(backend.peers.size).toBe(1);
    });

    it('but not a call that is told to wait: it goes on when the listener is back', async () => {
      const backend = await mesh.backend('b1');
      mesh.serve(simpleResources([backend.port]));
      const sut = client();
      expect(await sut.say()).toBe('b1');
      mesh.serve({ ...simpleResources([backend.port]), listeners: [] });
      await untilFailure(sut);
      const patient = sut.say({ metadata: new Metadata({ waitForReady: true }) });
      mesh.serve(simpleResources([backend.port]));
      expect(await patient).toBe('b1');
    });
  });
});
