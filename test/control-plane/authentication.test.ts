import { credentials, ServerCredentials } from '@grpc/grpc-js';
import {
  ControlPlane,
  Snapshot,
  type Authenticate,
  type AuthenticationResult,
  type ClientEvent,
  type ControlPlaneOptions,
} from '../../src/control-plane';
import type { ControlPlaneHooks } from '../../src/control-plane/control-plane';
import { MAX_PENDING_AUTHENTICATIONS } from '../../src/util/limits';
import { eventually } from '../support/eventually';
import { FakeClock } from '../support/fake-clock';
import { TestCertificates } from '../support/test-certificates';
import { AdsClient } from './ads-client';
import { OfficialClient, type OfficialClientOptions } from './official-client';
import { CDS, cluster, endpoints } from './resources';

const only = (name: string) =>
  Snapshot.from({ clusters: [cluster(name)], endpoints: [endpoints(name, 1)] });

/** The token is the name of the client. */
const byToken: Authenticate = async ({ metadata }) => {
  await Promise.resolve();
  const [token = ''] = metadata.get('authorization').map(String);
  const name = token.replace(/^Bearer /, '');
  return name === ''
    ? { refusal: { code: 16, details: 'there is no token' } }
    : { principal: { name, namespace: name } };
};

describe('the authentication of clients of a control plane', () => {
  const cleanUp: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const task of cleanUp.splice(0).reverse()) await task();
  });

  async function setUp(options: ControlPlaneOptions, hooks: ControlPlaneHooks = {}) {
    const events: ClientEvent[] = [];
    const onClientEvent = (event: ClientEvent) => void events.push(event);
    const given = { snapshot: only('shared'), onClientEvent, ...options };
    const server = new ControlPlane(given, hooks);
    const { address } = await server.start();
    cleanUp.push(() => server.close());
    const connect = (more: OfficialClientOptions = {}) => {
      const client = new AdsClient(address, more);
      cleanUp.push(() => client.close());
      const stream = client.open();
      stream.subscribe(CDS, [], { node: { id: 'n' } });
      return stream;
    };
    const as = (name: string) => connect({ headers: { authorization: `Bearer ${name}` } });
    return { server, address, events, connect, as };
  }

  it('serves those whose headers say who they are, as who they are', async () => {
    const groupOf: ControlPlaneOptions['groupOf'] = ({ principal }) => principal?.namespace;
    const { server, as, connect, events } = await setUp({ authenticate: byToken, groupOf });
    server.setSnapshot(only('own'), { group: 'shop' });
    expect((await as('shop').next()).resources[0]?.value.toString()).toContain('own');
    expect((await as('bank').next()).resources[0]?.value.toString()).toContain('shared');
    expect(await connect().ended).toEqual({ code: 16, details: 'there is no token' });
    expect(server.clients().map(({ principal }) => principal)).toEqual(['shop', 'bank']);
    expect(events.filter(({ kind }) => kind === 'connected')).toHaveLength(2);
  });

  it('refuses streams of every service, and reads nothing of them', async () => {
    const requests: unknown[] = [];
    const { address } = await setUp({
      authenticate: byToken,
      onClientEvent: (event) => requests.push(event),
      onLoadReport: (_client, report) => requests.push(report),
    });
    const client = new OfficialClient(address);
    cleanUp.push(() => client.close());
    for (const path of [
      'envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats',
      'envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources',
      'envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters',
    ]) {
      const stream = client.call(path);
      stream.send({ node: { id: 'n' } });
      expect(await stream.ended).toEqual({ code: 16, details: 'there is no token' });
    }
    expect(requests).toEqual([]);
  });

  it.each([
    ['a code that there is not', 99],
    ['OK', 0],
    ['no number', Number.NaN],
  ])('refuses with UNKNOWN if the code of the refusal is %s', async (_kind, code) => {
    const { connect } = await setUp({
      authenticate: () => ({ refusal: { code, details: 'not you' } }),
    });
    expect(await connect().ended).toEqual({ code: 2, details: 'not you' });
  });

  it('ends a stream with UNAVAILABLE if the check throws, and logs why', async () => {
    const errors: string[] = [];
    const logger = { trace() {}, info() {}, error: (text: () => string) => errors.push(text()) };
    let check: Authenticate = () => {
      throw new Error('broken');
    };
    const { connect } = await setUp({ authenticate: (request) => check(request), logger });
    const details = 'the client cannot be authenticated now';
    expect(await connect().ended).toEqual({ code: 14, details });
    check = () => Promise.reject(new Error('later'));
    expect(await connect().ended).toEqual({ code: 14, details });
    expect(errors).toEqual([
      'control plane: authenticate threw: broken',
      'control plane: authenticate threw: later',
    ]);
  });

  it('bounds the checks that are pending, and their time', async () => {
    const clock = new FakeClock();
    const pending: ((result: AuthenticationResult) => void)[] = [];
    const authenticate: Authenticate = () => new Promise((resolve) => pending.push(resolve));
    const { connect, address } = await setUp({ authenticate }, { clock });
    const client = new AdsClient(address);
    cleanUp.push(() => client.close());
    const first = client.open();
    for (let i = 1; i < MAX_PENDING_AUTHENTICATIONS; i++) client.open();
    const count = (n: number) =>
      eventually(
        () => pending.length,
        (length) => length === n,
      );
    await count(MAX_PENDING_AUTHENTICATIONS);
    const tooMany = { code: 14, details: '1000 clients are being authenticated already' };
    expect(await connect().ended).toEqual(tooMany);
    clock.advance(10_000);
    const tooLate = { code: 14, details: 'the client could not be authenticated within 10 s' };
    expect(await first.ended).toEqual(tooLate);
    const served = connect();
    await count(MAX_PENDING_AUTHENTICATIONS + 1);
    pending.at(-1)?.({ principal: { name: 'late' } });
    expect((await served.next()).resources).toHaveLength(1);
  });

  it('does not serve a stream that was cancelled meanwhile', async () => {
    const pending: ((result: AuthenticationResult) => void)[] = [];
    const authenticate: Authenticate = () => new Promise((resolve) => pending.push(resolve));
    const { connect, events, server } = await setUp({ authenticate });
    const stream = connect();
    await eventually(
      () => pending.length,
      (length) => length === 1,
    );
    stream.cancel();
    await stream.ended;
    const next = connect();
    await eventually(
      () => pending.length,
      (length) => length === 2,
    );
    for (const resolve of pending) resolve({ principal: { name: 'a' } });
    await next.next();
    expect(server.clients()).toHaveLength(1);
    expect(events.filter(({ kind }) => kind === 'connected')).toHaveLength(1);
  });

  describe('by TLS', () => {
    const certificates = new TestCertificates();
    const authority = certificates.authority('authority');
    const own = authority.sign('server', { names: ['DNS:localhost', 'IP:127.0.0.1'] });
    const web = authority.sign('web', { names: ['URI:spiffe://td/ns/shop/sa/web'] });
    const stranger = certificates.authority('other').sign('web');
    afterAll(() => certificates.close());

    const pair = {
      private_key: Buffer.from(own.privateKey),
      cert_chain: Buffer.from(own.certificate),
    };
    const roots = Buffer.from(authority.certificate);
    const client = (identity?: typeof web) =>
      identity === undefined
        ? credentials.createSsl(roots)
        : credentials.createSsl(
            roots,
            Buffer.from(identity.privateKey),
            Buffer.from(identity.certificate),
          );
    const byCertificate: Authenticate = ({ certificate }) =>
      certificate === undefined
        ? { refusal: { code: 16, details: 'there is no certificate' } }
        : { principal: { name: certificate.subjectaltname ?? '' } };

    it('knows the certificate that was verified, and no other', async () => {
      const { server, connect } = await setUp({
        credentials: ServerCredentials.createSsl(roots, [pair], true),
        authenticate: byCertificate,
      });
      expect((await connect({ channelCredentials: client(web) }).next()).resources).toHaveLength(1);
      expect(server.clients()[0]?.principal).toBe('URI:spiffe://td/ns/shop/sa/web');
      const { connect: open } = await setUp({
        credentials: ServerCredentials.createSsl(null, [pair], false),
        authenticate: byCertificate,
      });
      const details = 'there is no certificate';
      expect(await open({ channelCredentials: client(web) }).ended).toEqual({ code: 16, details });
      for (const each of [client(), client(stranger)]) {
        expect((await connect({ channelCredentials: each }).ended).code).toBe(14);
      }
    });

    it('closes connections that are not secure', async () => {
      const { connect, server } = await setUp({
        credentials: ServerCredentials.createSsl(null, [pair], false),
      });
      expect((await connect().ended).code).toBe(14);
      expect((await connect({ channelCredentials: client() }).next()).resources).toHaveLength(1);
      expect(server.clients()[0]?.peer).toMatch(/^127\.0\.0\.1:\d+$/);
    });

    it('does not start with a certificate that cannot be used', async () => {
      const broken = { private_key: Buffer.from('none'), cert_chain: Buffer.from('none') };
      const server = new ControlPlane({
        credentials: ServerCredentials.createSsl(null, [broken], false),
      });
      await expect(server.start()).rejects.toThrow(/PEM|no start line/i);
    });
  });
});
