import { Relay } from '../../packages/relay/src/relay';
import type { RelayClientReport } from '../../packages/relay/src/relay-report';
import { PACKAGE_VERSION } from '../../src/util/version';
import { AdsClient } from '../control-plane/ads-client';
import { CDS, echo } from '../control-plane/resources';
import { EchoBackend, EchoClient } from '../support/echo-backend';
import { bootstrapFor, SERVICE, simpleResources, registerAnew } from '../support/mesh';
import { RelayScene } from './relay-scene';

interface ConnectOptions {
  /** Default: the relay of the scene. */
  readonly address?: string;
  readonly relay?: Relay;
}

describe('what a relay reports of those that are connected', () => {
  let scene: RelayScene;
  const endings: (() => unknown)[] = [];

  beforeEach(async () => {
    scene = await RelayScene.start();
    scene.serve(echo);
  });
  afterEach(() => {
    for (const end of endings.splice(0).reverse()) end();
    scene.stop();
  });

  /** Connects a client whose first request has this node. */
  async function connect(
    node: object,
    { address = scene.listen, relay = scene.relay }: ConnectOptions = {},
  ): Promise<RelayClientReport | undefined> {
    const client = new AdsClient(address);
    endings.push(() => client.close());
    const stream = client.open();
    stream.subscribe(CDS, ['echo'], { node });
    await stream.next();
    return relay.inspect().clients.at(-1);
  }

  /** A relay on another address, below the one of the scene or the control plane. */
  async function startRelay(serverUri: string, features: readonly string[] = []): Promise<Relay> {
    const bootstrap = { ...bootstrapFor(serverUri, features), node: { id: 'below' } };
    const relay = new Relay({ listen: '127.0.0.1:0', bootstrap, env: {} });
    endings.push(() => void relay.close({ force: true }));
    await relay.start();
    return relay;
  }

  it('has the version of the relay, and the user agents of its clients', async () => {
    expect(scene.relay.inspect().version).toBe(PACKAGE_VERSION);
    const node = { id: 'a', user_agent_name: 'gRPC Go', user_agent_version: '1.75.0' };
    const beforeMs = Date.now();
    const client = await connect(node);
    expect(client).toMatchObject({ userAgentName: 'gRPC Go', userAgentVersion: '1.75.0' });
    expect(client?.connectedAtMs).toBeGreaterThanOrEqual(beforeMs);
    const version = { major_number: 1, minor_number: 34, patch: 2 };
    const built = { id: 'b', user_agent_name: 'envoy', user_agent_build_version: { version } };
    expect(await connect(built)).toMatchObject({ userAgentVersion: '1.34.2' });
  });

  it('has nothing that a client does not say', async () => {
    const client = await connect({ id: 'a' });
    expect(client).toMatchObject({ userAgentName: '', userAgentVersion: '' });
    expect(Object.keys(JSON.parse(JSON.stringify(client)))).not.toContain('peer');
  });

  it('has the address of a client that is not on a socket', async () => {
    const relay = await startRelay(scene.upstream);
    const address = relay.inspect().address ?? '';
    const client = await connect({ id: 'a' }, { address, relay });
    expect(client?.peer).toMatch(/^127\.0\.0\.1:\d+$/);
  });

  it('has 1,024 characters of what a client says of itself', async () => {
    const long = 'x'.repeat(10_000);
    const client = await connect({ id: long, user_agent_name: long, user_agent_version: long });
    const cut = `${'x'.repeat(1024)}…`;
    expect(client).toMatchObject({ nodeId: cut, userAgentName: cut, userAgentVersion: cut });
  });

  it('has the user agent of a client of this package, on a socket', async () => {
    const backend = await EchoBackend.start('a');
    scene.serve(simpleResources([backend.port]));
    registerAnew({ bootstrap: bootstrapFor(scene.listen) });
    const client = new EchoClient(`xds:///${SERVICE}`);
    endings.push(
      () => backend.stop(),
      () => client.close(),
    );
    expect(await client.say()).toBe('a');
    expect(scene.relay.inspect().clients).toMatchObject([
      { userAgentName: 'grpc-xds (Node.js)', userAgentVersion: PACKAGE_VERSION },
    ]);
  });
});
