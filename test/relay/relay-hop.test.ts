import { status } from '@grpc/grpc-js';
import { inspect } from '../../src';
import { Relay } from '../../packages/relay/src/relay';
import { AdsClient } from '../control-plane/ads-client';
import { DeltaClient } from '../control-plane/delta-client';
import { CDS, echo, EDS } from '../control-plane/resources';
import { EchoBackend, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import {
  bootstrapFor,
  SERVICE,
  simpleResources,
  DISTANT_VARIANTS,
  registerAnew,
} from '../support/mesh';
import { AdminClient } from '../../packages/cli/src/dump/admin-client';
import { enumName } from '../../src/util/enum-name';
import { ClientResourceStatus } from '../../src/wire/generated/envoy/admin/v3/config_dump_shared';
import { RelayScene } from './relay-scene';

const node = { id: 'a' };

describe.each(DISTANT_VARIANTS)(
  'a relay, as its clients see it in the variant: %s',
  (_name, features) => {
    let scene: RelayScene;
    let backend: EchoBackend;
    let client: EchoClient | undefined;

    beforeEach(async () => {
      registerAnew({});
      scene = await RelayScene.start();
      backend = await EchoBackend.start('one');
    });
    afterEach(() => {
      client?.close();
      client = undefined;
      backend.stop();
      scene.stop();
      registerAnew({});
    });

    function connect(servers: readonly string[] = [scene.listen]): EchoClient {
      const [first = '', ...others] = servers;
      const bootstrap = bootstrapFor(first, features);
      const more = others.flatMap((uri) => bootstrapFor(uri, features).xds_servers);
      const xds_servers = [...bootstrap.xds_servers, ...more];
      client = new EchoClient(`xds:///${SERVICE}`, {
        'grpc_xds.bootstrap': JSON.stringify({ ...bootstrap, xds_servers }),
      });
      return client;
    }

    it('fails calls without a configuration with the failure of the server above it', async () => {
      void scene.controlPlane.close({ force: true });
      const error: unknown = await connect()
        .say()
        .catch((failure: unknown) => failure);
      expect(error).toMatchObject({ code: status.UNAVAILABLE });
      const { details } = Object(error) as { readonly details: string };
      expect(details).toContain(
        `management server ${scene.listen} (node "test-node") ended the stream with UNAVAILABLE: relay (pid ${process.pid}): management server ${scene.upstream} (node "relay") cannot be reached: `,
      );
      await scene.restartControlPlane(simpleResources([backend.port]));
      await eventually(
        () => inspect().targets,
        ([target]) => target?.state === 'ready',
      );
      expect(await client?.say()).toBe('one');
    });

    it('is left for the next server of the bootstrap while the server above it cannot be reached', async () => {
      const unreachable = new Relay({
        listen: '127.0.0.1:0',
        env: {},
        bootstrap: bootstrapFor('127.0.0.1:1'),
      });
      try {
        const address = await unreachable.start();
        scene.serve(simpleResources([backend.port]));
        expect(await connect([address, scene.upstream]).say()).toBe('one');
      } finally {
        void unreachable.close({ force: true });
      }
    });
  },
);

describe('the streams of a relay while its server cannot be reached', () => {
  it.each(['sotw', 'delta'])('end without a response, and go on after one: %s', async (variant) => {
    const scene = await RelayScene.start();
    const [sotw, delta] = [new AdsClient(scene.listen), new DeltaClient(scene.listen)];
    const open = (typeUrl: string) => {
      if (variant === 'delta') {
        const stream = delta.open();
        stream.send(typeUrl, { node, sub: ['echo'] });
        return stream;
      }
      const stream = sotw.open();
      stream.subscribe(typeUrl, ['echo'], { node });
      return stream;
    };
    try {
      scene.serve(echo);
      const known = open(CDS);
      await known.next();
      void scene.controlPlane.close({ force: true });
      const other = open(EDS);
      expect(await other.ended).toMatchObject({ code: status.UNAVAILABLE });
      expect(other.received).toEqual([]);
      await scene.restartControlPlane(echo);
      await eventually(
        () => scene.relay.inspect().servers,
        ([server]) => server?.state === 'open' && server.lastError === undefined,
      );
      expect((await open(EDS).next()).resources).toHaveLength(1);
    } finally {
      sotw.close();
      delta.close();
      scene.stop();
    }
  });
});

describe('CSDS of a relay', () => {
  it('has what the relay has, and what each client has acknowledged and rejected', async () => {
    const scene = await RelayScene.start();
    const sotw = new AdsClient(scene.listen);
    const admin = new AdminClient(scene.listen, 10_000);
    try {
      scene.serve(echo);
      const [good, bad] = [sotw.open(), sotw.open()];
      good.subscribe(CDS, ['echo'], { node: { id: 'good' } });
      const received = await good.next();
      good.ack(received, ['echo']);
      bad.subscribe(CDS, ['echo', 'none'], { node: { id: 'bad' } });
      bad.nack(await bad.next(), ['echo', 'none'], 'Cluster "echo": it is bad');
      await eventually(
        () => scene.relay.inspect().clients,
        (clients) => clients[1]?.types[0]?.rejection !== undefined,
      );
      const status = await admin.fetchStatus();
      const configs = status.ok ? status.value.config : [];
      const shown = configs.map(({ clientScope, node: of, genericXdsConfigs }) => [
        clientScope,
        of?.id,
        ...genericXdsConfigs.map(({ name, clientStatus, xdsConfig, errorState }) => [
          name,
          enumName(ClientResourceStatus, clientStatus),
          xdsConfig !== undefined,
          errorState?.details,
        ]),
      ]);
      const rejection = expect.stringMatching(
        /^client "bad" \(stream \d+\): Cluster "echo": it is bad$/,
      ) as unknown;
      expect(shown).toEqual([
        [
          '#relay',
          'relay',
          ['echo', 'ACKED', true, undefined],
          ['none', 'REQUESTED', false, undefined],
        ],
        ['#client-1', 'good', ['echo', 'ACKED', false, undefined]],
        [
          '#client-2',
          'bad',
          ['echo', 'NACKED', false, rejection],
          ['none', 'REQUESTED', false, undefined],
        ],
      ]);
    } finally {
      admin.close();
      sotw.close();
      scene.stop();
    }
  });
});
