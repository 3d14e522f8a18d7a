import { Snapshot, type ResourceKind } from '../../src/control-plane';
import { clusterKind, endpointKind, listenerKind, routeKind } from '../../src/control-plane';
import { EchoBackend, EchoClient } from '../support/echo-backend';
import { bootstrapFor, SERVICE, simpleResources, registerAnew } from '../support/mesh';
import { ScriptedControlPlane, type ScriptedStream } from '../support/scripted-control-plane';
import { seededRandom } from '../support/seeded-random';
import { edsClusterJson, endpointsJson, type Json } from '../support/xds-json';

type Request = Awaited<ReturnType<ScriptedStream['nextRequest']>>;

interface Wire {
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

const kinds = [listenerKind, routeKind, clusterKind, endpointKind];

/** Serves good resources by hand, then whatever a test sends, and reads the answers. */
class Conversation {
  private nonce = 0;
  private readonly good: ReadonlyMap<string, readonly Wire[]>;

  private constructor(
    private readonly stream: ScriptedStream,
    snapshot: Snapshot,
  ) {
    this.good = new Map(kinds.map((kind) => [kind.typeUrl, resourcesOf(snapshot, kind)]));
  }

  static async begin(server: ScriptedControlPlane, snapshot: Snapshot): Promise<Conversation> {
    return new Conversation(await server.nextStream(), snapshot);
  }

  /** Answers each first request for a type, until endpoints were asked for. */
  async serveAll(): Promise<void> {
    for (const kind of kinds) {
      const request = await this.request((r) => r.typeUrl === kind.typeUrl);
      const { error } = await this.offer(request.typeUrl, this.goodOf(request.typeUrl));
      expect(error).toBeUndefined();
    }
  }

  goodOf(typeUrl: string): readonly Wire[] {
    return this.good.get(typeUrl) ?? [];
  }

  /** Sends resources and waits for the verdict. */
  async offer(
    typeUrl: string,
    resources: readonly Wire[],
  ): Promise<{ error: string | undefined; version: string }> {
    const nonce = String(++this.nonce);
    const versionInfo = `v${nonce}`;
    this.stream.send({ typeUrl, nonce, versionInfo, resources: [...resources] });
    const answer = await this.request((r) => r.responseNonce === nonce);
    return { error: answer.errorDetail?.message, version: answer.versionInfo };
  }

  private async request(isIt: (request: Request) => boolean): Promise<Request> {
    for (;;) {
      const request = await this.stream.nextRequest();
      if (isIt(request)) return request;
    }
  }
}

function resourcesOf(snapshot: Snapshot, kind: ResourceKind): readonly Wire[] {
  return [...snapshot.set(kind).byName.values()].map(({ value }) => ({
    typeUrl: kind.typeUrl,
    value,
  }));
}

function encode(resources: { clusters?: readonly Json[]; endpoints?: readonly Json[] }): Wire {
  const snapshot = Snapshot.from(resources);
  const [first] = kinds.flatMap((kind) => [...resourcesOf(snapshot, kind)]);
  if (first === undefined) throw new Error('nothing to encode');
  return first;
}

describe('bad input from a control plane', () => {
  const server = new ScriptedControlPlane();
  let backend: EchoBackend;
  let client: EchoClient;
  let conversation: Conversation;
  let connections = 1;

  beforeAll(async () => {
    backend = await EchoBackend.start('b1');
    registerAnew({ bootstrap: bootstrapFor(await server.start(), []) });
    client = new EchoClient(`xds:///${SERVICE}`);
    const call = client.say();
    conversation = await Conversation.begin(server, Snapshot.from(simpleResources([backend.port])));
    await conversation.serveAll();
    expect(await call).toBe('b1');
  });

  afterAll(async () => {
    client.close();
    backend.stop();
    await server.stop();
  });

  afterEach(async () => {
    // Whatever was sent: the last good configuration is in use, over the first connection, and on one stream.
    expect(await client.say()).toBe('b1');
    expect(backend.peers.size).toBeLessThanOrEqual(connections);
    expect(server.streams).toHaveLength(1);
  });

  const clusterType = clusterKind.typeUrl;
  const endpointType = endpointKind.typeUrl;

  it('rejects a truncated resource and says which', async () => {
    const [good] = conversation.goodOf(endpointType);
    const value = good?.value.subarray(0, good.value.length - 3) ?? new Uint8Array();
    const { error, version } = await conversation.offer(endpointType, [
      { typeUrl: endpointType, value },
    ]);
    expect(error).toBe('resources[0]: malformed message: premature EOF');
    // A rejection repeats the version that was last accepted.
    expect(version).toBe('v4');
  });

  it('rejects a resource of another type and names both types', async () => {
    const [good] = conversation.goodOf(clusterType);
    const { error } = await conversation.offer(endpointType, good === undefined ? [] : [good]);
    expect(error).toContain(endpointType);
    expect(error).toContain(clusterType);
  });

  it('rejects a resource that is there twice', async () => {
    const [good] = conversation.goodOf(clusterType);
    const twice = good === undefined ? [] : [good, good];
    const { error } = await conversation.offer(clusterType, twice);
    expect(error).toContain('echo');
  });

  it('rejects a gap between priorities, and lists everything else that is wrong', async () => {
    const assignment = endpointsJson('echo', [
      { zone: 'a', priority: 0, ports: [1] },
      { zone: 'b', priority: 2, ports: [1] },
    ]);
    const { error } = await conversation.offer(endpointType, [encode({ endpoints: [assignment] })]);
    expect(error).toContain('priority 1');
    expect(error).toContain('duplicate address 127.0.0.1 with port 1');
  });

  it.each(['constructor', '__proto__', 'toString'])(
    'takes a resource named %s for one like any other',
    async (name) => {
      const [good] = conversation.goodOf(clusterType);
      const odd = encode({ clusters: [edsClusterJson(name, { lb_policy: 'MAGLEV' })] });
      const resources = good === undefined ? [odd] : [odd, good];
      // Nobody asked for it, so whatever is wrong with it does not matter.
      const { error } = await conversation.offer(clusterType, resources);
      expect(error).toBeUndefined();
    },
  );

  it('applies the good resources of a response whose others are bad', async () => {
    const other = await EchoBackend.start('b1');
    const moved = endpointsJson('echo', [{ zone: 'a', ports: [other.port, backend.port] }]);
    const bad = { typeUrl: endpointType, value: Uint8Array.of(0xff) };
    const { error } = await conversation.offer(endpointType, [bad, encode({ endpoints: [moved] })]);
    expect(error).toBeDefined();
    while (other.calls === 0) await client.say();
    await conversation.offer(endpointType, conversation.goodOf(endpointType));
    other.stop();
  });

  it('survives 1,000 random mutations of valid resources and answers each', async () => {
    // Every 10 s grpc-js closes connections that no endpoint uses, which may be between a mutation and the good resource.
    connections = 2;
    const random = seededRandom(2026);
    let rejected = 0;
    for (let round = 0; round < 1000; round++) {
      const kind = kinds[round % kinds.length] ?? endpointKind;
      const [good] = conversation.goodOf(kind.typeUrl);
      if (good === undefined) throw new Error(`no resource of type ${kind.typeUrl}`);
      const value = mutate(good.value, random);
      const { error } = await conversation.offer(kind.typeUrl, [{ ...good, value }]);
      if (error !== undefined) rejected++;
      // A mutation may be valid, or a deletion: put things right again.
      if (error === undefined) await conversation.offer(kind.typeUrl, [good]);
    }
    expect(rejected).toBeGreaterThan(100);
    for (const kind of kinds)
      await conversation.offer(kind.typeUrl, conversation.goodOf(kind.typeUrl));
    await client.say().catch(() => undefined);
  }, 300_000);
});

/** Flips, cuts or repeats some bytes. */
function mutate(bytes: Uint8Array, random: () => number): Uint8Array {
  const at = Math.floor(random() * bytes.length);
  const copy = Uint8Array.from(bytes);
  switch (Math.floor(random() * 3)) {
    case 0:
      copy[at] = Math.floor(random() * 256);
      return copy;
    case 1:
      return copy.subarray(0, at);
    default:
      return Uint8Array.from([...copy.subarray(0, at), ...copy.subarray(at >> 1)]);
  }
}
