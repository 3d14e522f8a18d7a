import type { ClientEvent } from '../../src/control-plane';
import { AdsClient } from '../control-plane/ads-client';
import { DeltaClient } from '../control-plane/delta-client';
import { OfficialClient } from '../control-plane/official-client';
import { CDS, EDS, cluster, echo, endpoints } from '../control-plane/resources';
import { eventually } from '../support/eventually';
import { DISTANT_VARIANTS } from '../support/mesh';
import { RelayScene } from './relay-scene';

const node = { id: 'a' };
const TLS_SECRET = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret';
const SECRET = 'type.googleapis.com/example.Unknown';

describe.each(DISTANT_VARIANTS)(
  'a relay whose server is used in the variant: %s',
  (_name, features) => {
    let scene: RelayScene;
    let sotw: AdsClient;
    let delta: DeltaClient;

    beforeEach(async () => {
      scene = await RelayScene.start({}, features);
      sotw = new AdsClient(scene.listen);
      delta = new DeltaClient(scene.listen);
    });
    afterEach(() => {
      sotw.close();
      delta.close();
      scene.stop();
    });

    it('hands on the resources of all types, their changes and their removal, in both variants', async () => {
      scene.serve({ ...echo, clusters: [cluster('echo'), cluster('other')] });
      const first = sotw.open();
      first.subscribe(CDS, ['echo', 'other'], { node });
      const both = await first.next();
      first.ack(both, ['echo', 'other']);
      expect(both.resources).toHaveLength(2);
      const second = delta.open();
      second.send(EDS, { node: { id: 'b' }, sub: ['echo'] });
      const before = await second.next();
      second.ack(before);
      scene.serve({ ...echo, endpoints: [endpoints('echo', 1, 2)] });
      const after = await second.next();
      expect(after.resources.map(({ name }) => name)).toEqual(['echo']);
      expect(after.resources[0]?.version).not.toBe(before.resources[0]?.version);
      const one = await first.next();
      expect(one.resources).toHaveLength(1);
      const third = delta.open();
      third.send(CDS, { node: { id: 'c' }, sub: ['other', 'echo'] });
      const known = await third.next();
      expect(known.resources.map(({ name }) => name)).toEqual(['echo']);
      expect(known.removed_resources).toEqual(['other']);
    });

    it('serves the last resources while the server is away, and what has changed when it is back', async () => {
      scene.serve(echo);
      const first = delta.open();
      first.send(CDS, { node, sub: ['echo'] });
      first.ack(await first.next());
      void scene.controlPlane.close({ force: true });
      const second = sotw.open();
      second.subscribe(CDS, ['echo'], { node: { id: 'b' } });
      second.ack(await second.next(), ['echo']);
      const changed = { ...cluster('echo'), lb_policy: 'RING_HASH' as const };
      await scene.restartControlPlane({ ...echo, clusters: [changed] });
      expect((await second.next()).resources).toHaveLength(1);
      expect((await first.next()).resources).toHaveLength(1);
    });

    it('rejects at the server, once, what clients reject', async () => {
      scene.serve(echo);
      for (const id of ['a', 'b']) {
        const stream = sotw.open();
        stream.subscribe(CDS, ['echo'], { node: { id } });
        stream.nack(await stream.next(), ['echo'], 'the field x is bad');
      }
      const nacked = () => scene.events.filter(({ kind }) => kind === 'nacked');
      await eventually(nacked, ({ length }) => length > 0);
      await eventually(
        () => scene.relay.inspect().clients,
        (clients) => clients.every(({ types }) => types[0]?.rejection !== undefined),
      );
      expect(nacked()).toEqual([
        expect.objectContaining({
          typeUrl: CDS,
          message: 'client of the relay, node "a", rejected Cluster: the field x is bad',
        }),
      ]);
      const [{ types } = { types: new Map() }] = scene.controlPlane.clients();
      expect(types.get(CDS)?.rejection?.message).toContain('the field x is bad');
    });

    it('rejects resources again that are served again after others', async () => {
      const nacked = () => scene.events.filter(({ kind }) => kind === 'nacked');
      const stream = sotw.open();
      scene.serve(echo);
      stream.subscribe(CDS, ['echo'], { node });
      stream.nack(await stream.next(), ['echo'], 'the field x is bad');
      await eventually(nacked, ({ length }) => length === 1);
      scene.serve({ ...echo, clusters: [{ ...cluster('echo'), lb_policy: 'RING_HASH' as const }] });
      stream.ack(await stream.next(), ['echo']);
      scene.serve(echo);
      stream.nack(await stream.next(), ['echo'], 'the field x is bad');
      await eventually(nacked, ({ length }) => length === 2);
    });

    it('rejects what clients have rejected when another process of the server sends it', async () => {
      scene.serve(echo);
      const stream = sotw.open();
      stream.subscribe(CDS, ['echo'], { node: { id: 'a' } });
      stream.nack(await stream.next(), ['echo'], 'the field x is bad');
      await eventually(
        () => scene.events,
        (events) => events.some(({ kind }) => kind === 'nacked'),
      );
      void scene.controlPlane.close({ force: true });
      const before = scene.events.splice(0).length;
      await scene.restartControlPlane(echo);
      const isAnswer = ({ kind }: ClientEvent) => kind === 'acked' || kind === 'nacked';
      const answers = () => scene.events.filter(isAnswer);
      await eventually(answers, ({ length }) => length > 1);
      expect([before > 0, answers()]).toEqual([
        true,
        ['acked', 'nacked'].map((kind) => expect.objectContaining({ kind, typeUrl: CDS })),
      ]);
      expect(JSON.stringify(answers())).toContain(
        'client of the relay, node \\"a\\", rejected Cluster: the field x is bad',
      );
      const changed = { ...cluster('echo'), lb_policy: 'RING_HASH' };
      scene.serve({ ...echo, clusters: [changed] });
      stream.ack(await stream.next(), ['echo']);
      await eventually(answers, ({ length }) => length > 2);
      expect(answers().at(-1)).toMatchObject({ kind: 'acked', typeUrl: CDS });
    });
  },
);

describe('a relay', () => {
  let scene: RelayScene;
  let sotw: AdsClient;
  let delta: DeltaClient;

  beforeEach(async () => {
    scene = await RelayScene.start();
    sotw = new AdsClient(scene.listen);
    delta = new DeltaClient(scene.listen);
  });
  afterEach(() => {
    sotw.close();
    delta.close();
    scene.stop();
  });

  it('has one stream for many clients, with the names of all of them', async () => {
    scene.serve({ ...echo, clusters: [cluster('a'), cluster('b'), cluster('c')] });
    const first = sotw.open();
    first.subscribe(CDS, ['a', 'b'], { node: { id: 'n0' } });
    expect((await first.next()).resources).toHaveLength(2);
    const second = delta.open();
    second.send(CDS, { node: { id: 'n1' }, sub: ['b', 'c'] });
    const known = await second.next();
    const requested = await second.next();
    expect([known, requested].map(({ resources }) => resources.map(({ name }) => name))).toEqual([
      ['b'],
      ['c'],
    ]);
    const third = sotw.open();
    third.subscribe(CDS, ['c'], { node: { id: 'n2' } });
    expect((await third.next()).resources).toHaveLength(1);
    expect(scene.streams).toBe(1);
    const [client] = scene.controlPlane.clients();
    expect(client?.nodeId).toBe('relay');
    expect([...(client?.types.get(CDS)?.subscribed ?? [])].sort()).toEqual(['a', 'b', 'c']);
    expect(scene.relay.inspect().clients.map(({ nodeId }) => nodeId)).toEqual(['n0', 'n1', 'n2']);
  });

  it('does not harm the bytes of a type that it does not know', async () => {
    const value = new Uint8Array([0x0a, 1, 0x78, 0xf8, 0x3f, 0xff, 0xff, 0x03, 0x10, 0x07]);
    scene.serve({ resources: [{ typeUrl: SECRET, name: 'x', value }] });
    const stream = sotw.open();
    stream.subscribe(SECRET, ['x'], { node });
    const [got] = (await stream.next()).resources;
    expect(got).toEqual({ type_url: SECRET, value: Buffer.from(value) });
  });

  it.each(['StreamSecrets', 'DeltaSecrets'])(
    'serves secrets by a service of their own, and has them in no report: %s',
    async (method) => {
      const value = Buffer.from('\n\x03top\x12\x06hidden');
      scene.serve({ resources: [{ typeUrl: TLS_SECRET, name: 'top', value }] });
      const client = new OfficialClient(scene.listen);
      const stream = client.call<object>(
        `envoy.service.secret.v3.SecretDiscoveryService/${method}`,
      );
      const names = method === 'DeltaSecrets' ? 'resource_names_subscribe' : 'resource_names';
      stream.send({ node, [names]: ['top'] });
      expect(JSON.stringify(await stream.next())).toContain(JSON.stringify(value));
      client.close();
      const reports = JSON.stringify([scene.relay.inspect(), scene.lines]);
      expect(reports).toContain(TLS_SECRET);
      for (const encoding of ['latin1', 'hex', 'base64'] as const) {
        expect(reports).not.toContain(Buffer.from('hidden').toString(encoding));
      }
    },
  );

  it('can be started again after it was stopped while it was starting', async () => {
    await scene.relay.close();
    const starting = scene.relay.start();
    await scene.relay.close();
    await expect(starting).rejects.toThrow('stopped while it was starting');
    await expect(scene.relay.start()).resolves.toBe(scene.listen);
  });
});
