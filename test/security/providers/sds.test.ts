import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bootstrap } from '../../../src/bootstrap/bootstrap';
import { credentials } from '../../../src/grpc-js';
import type {
  CertificateProvider,
  CertificateProviderType,
  CertificateWatch,
} from '../../../src/security/providers/certificate-provider';
import {
  CertificateProviderRegistry,
  CertificateProviders,
} from '../../../src/security/providers/certificate-providers';
import { createSds } from '../../../src/security/providers/sds';
import { GrpcTransportFactory } from '../../../src/transport/grpc-transport';
import { systemRandom } from '../../../src/util/random';
import { ok } from '../../../src/util/result';
import { Violations } from '../../../src/util/violations';
import { SharedTransports, type XdsTransportFactory } from '../../../src/xds-client/transport';
import { eventually } from '../../support/eventually';
import { FakeClock } from '../../support/fake-clock';
import {
  identitySecret,
  rootsSecret,
  type SdsRequest,
  SdsServer,
  type SdsServerOptions,
} from '../../support/sds-server';
import { TestCertificates } from '../../support/test-certificates';
import { lasting } from '../../support/lasting';

// The certificate provider sds, against a secret discovery server over real gRPC.

const certificates = new TestCertificates();
const root = certificates.authority('root');
const otherRoot = certificates.authority('other root');
const [first, second] = [root.sign('first'), root.sign('second')];
afterAll(() => certificates.close());

const SUBJECT = 'certificate provider instance "mesh": ';
const SINCE = /failing since 2023-11-14T22:1\d:\d\d\.000Z/;
const VARIANTS: readonly (readonly [
  name: string,
  features: readonly string[],
  method: SdsRequest['method'],
])[] = [
  ['state of the world', [], 'StreamSecrets'],
  ['incremental', ['grpc_xds_delta'], 'DeltaSecrets'],
];
const support = { channelCreds: new Set(['insecure']), callCreds: new Set<string>() };

let features: readonly string[] = [];
let server: SdsServer;
let uri: string;
let clock: FakeClock;
let logged: string[];
let changes: number;
const closing: (() => void)[] = [];

beforeEach(async () => {
  clock = new FakeClock();
  logged = [];
  changes = 0;
  await serve();
});
afterEach(() => {
  for (const close of closing.splice(0).reverse()) close();
});

async function serve(options?: SdsServerOptions, address?: string): Promise<void> {
  server = new SdsServer(options);
  const started = server;
  closing.push(() => started.stop());
  uri = await server.start(address);
}

const logger = {
  trace: () => undefined,
  info: (text: () => string) => logged.push(text()),
  error: (text: () => string) => logged.push(text()),
};

function createType(): CertificateProviderType<NonNullable<ReturnType<typeof parse>>> {
  const transportFactory = new SharedTransports(
    new GrpcTransportFactory({
      credentials: { create: () => ok(credentials.createInsecure()) },
      clock,
    }),
  );
  return createSds({
    support,
    transportFactory,
    random: systemRandom,
    spiffeBundles: true,
    userAgent: { name: 'test', version: '1' },
    dataErrorHandling: false,
    clock,
  });
}

const parse = (config: object, serverFeatures = features) => {
  const sds_server = {
    server_uri: uri,
    channel_creds: [{ type: 'insecure' }],
    server_features: serverFeatures,
  };
  return createSds({
    support,
    transportFactory: { create: () => ({ ok: false, error: 'not used' }) },
    random: systemRandom,
    userAgent: { name: '', version: '' },
    spiffeBundles: true,
    dataErrorHandling: false,
    clock,
  }).parseConfig({ sds_server, ...config }, Violations.root());
};

function create(config: object = {}, serverFeatures = features): CertificateProvider {
  const parsed = parse(config, serverFeatures);
  if (parsed === undefined) throw new Error('an invalid config');
  const node = { id: 'node', cluster: 'c', locality: undefined, metadata: undefined };
  const provider = createType().create(parsed, { instanceName: 'mesh', node, clock, logger });
  return provider;
}

function watch(config?: object, serverFeatures = features): CertificateWatch {
  const watching = create(config, serverFeatures).watch('any name', () => changes++);
  closing.push(() => watching.release());
  return watching;
}

it('connects with the options of the channel that is the first to use it (gRFC A110)', () => {
  const connectionOptions = { equals: () => true };
  const used: unknown[] = [];
  const transportFactory: XdsTransportFactory = {
    create(_server, options) {
      used.push(options);
      return { ok: false, error: 'not connected' };
    },
  };
  const type = createSds({
    support,
    transportFactory,
    random: systemRandom,
    spiffeBundles: true,
    userAgent: { name: '', version: '' },
    dataErrorHandling: false,
    clock,
  });
  const types = new CertificateProviderRegistry();
  types.register(type);
  const channel_creds = [{ type: 'insecure' }];
  const instance = {
    pluginName: 'sds',
    config: { sds_server: { server_uri: uri, channel_creds, server_features: features } },
  };
  const bootstrap: Bootstrap = {
    source: 'test',
    servers: [],
    authorities: new Map(),
    node: { id: 'node', cluster: 'c', locality: undefined, metadata: undefined },
    clientDefaultListenerResourceNameTemplate: '%s',
    certificateProviders: new Map([['mesh', instance]]),
  };
  const providers = new CertificateProviders({ types, clock, logger });
  const onChanged = () => undefined;
  const watching = providers
    .of(bootstrap, connectionOptions)
    .watch({ instanceName: 'mesh', certificateName: '' }, onChanged);
  closing.push(() => watching.release());
  expect(new Set(used)).toEqual(new Set([connectionOptions]));
});

/** Waits until both parts are there, whatever they are. */
async function settled(certificateWatch: CertificateWatch): Promise<CertificateWatch['current']> {
  return eventually(
    () => certificateWatch.current,
    ({ roots, identity }) => roots !== undefined && identity !== undefined,
  );
}

/** Serves both secrets, and waits until the client has them. */
async function watchGood(): Promise<CertificateWatch> {
  server.set('default', identitySecret(first));
  server.set('ROOTCA', rootsSecret(root.certificate));
  const watching = watch();
  await settled(watching);
  return watching;
}

const identityOf = ({ certificateChain, privateKey }: typeof first) =>
  ok({ certificateChain, privateKey });

describe.each(VARIANTS)('sds, %s', (_name, variantFeatures, method) => {
  beforeEach(() => {
    features = variantFeatures;
  });

  it('has a stream for each secret, over one connection, and acknowledges', async () => {
    const { current } = await watchGood();
    expect(current).toEqual({
      roots: ok({ certificates: [root.certificate] }),
      identity: identityOf(first),
    });
    const requests = await eventually(
      () => server.requests,
      ({ length }) => length >= 4,
    );
    for (const name of ['default', 'ROOTCA']) {
      const initial = requests.find(({ names }) => names.includes(name));
      expect(initial).toMatchObject({ method, names: [name], nonce: '', error: undefined });
      const { stream } = initial ?? {};
      const acknowledgement = requests.filter((request) => request.stream === stream)[1];
      expect(acknowledgement).toMatchObject({ nonce: '1', error: undefined });
    }
    expect([server.openStreams, server.connections]).toEqual([2, 1]);
    expect(logged).toEqual([]);
  });

  it('sends the node of the bootstrap, and the version by which SPIRE sends trust domains', async () => {
    await watchGood();
    const version = { majorNumber: 1, minorNumber: 18, patch: 0 };
    expect(server.requests[0]?.node).toMatchObject({
      id: 'node',
      cluster: 'c',
      userAgentName: 'test',
      userAgentVersionType: { $case: 'userAgentBuildVersion', value: { version } },
    });
  });

  it('replaces what has changed, and only that', async () => {
    const watching = await watchGood();
    const before = watching.current;
    const changesBefore = changes;
    server.set('default', identitySecret(second));
    await eventually(() => changes > changesBefore, true);
    expect(watching.current.identity).toEqual(identityOf(second));
    expect(watching.current.roots).toBe(before.roots);
    expect(changes).toBe(changesBefore + 1);
  });

  it('notifies a watch until it is released', async () => {
    server.set('default', identitySecret(first));
    server.set('ROOTCA', rootsSecret(root.certificate));
    const provider = create();
    const watching = provider.watch('any name', () => undefined);
    const released = provider.watch('another name', () => changes++);
    closing.push(() => watching.release());
    const before = await settled(released);
    const changesBefore = changes;
    released.release();
    server.set('ROOTCA', rootsSecret(otherRoot.certificate));
    await eventually(() => watching.current.roots !== before.roots, true);
    expect(changes).toBe(changesBefore);
  });

  it('rejects what cannot be used, and keeps the last good until there is better', async () => {
    const watching = await watchGood();
    const before = watching.current;
    const bad = [
      [
        identitySecret({ ...first, privateKey: second.privateKey }),
        /tls_certificate: cannot be used: .*key values mismatch/,
      ],
      [identitySecret({ certificateChain: '', privateKey: '' }), /no certificate in PEM found/],
      [rootsSecret(root.certificate), /must be tls_certificate, not validation_context/],
    ] as const;
    for (const [position, [secret, expected]] of bad.entries()) {
      server.set('default', secret);
      const nacks = await eventually(
        () => {
          clock.advance(1000);
          return server.nacks();
        },
        ({ length }) => length > position,
      );
      expect(nacks[position]).toMatch(expected);
      expect(watching.current).toEqual(before);
      expect(watching.current.identity).toBe(before.identity);
      const kept = logged.filter((line) => line.startsWith(SUBJECT) && expected.test(line));
      expect(kept).toEqual([
        expect.stringMatching(/ \(failing since .*\); what was read before stays in use$/),
      ]);
    }
    server.set('default', identitySecret(second));
    await eventually(() => watching.current.identity !== before.identity, true);
    expect(watching.current).toEqual({ ...before, identity: identityOf(second) });
    expect(logged.at(-1)).toMatch(SINCE);
    expect(logged.at(-1)).toMatch(`${SUBJECT}Secret "default" can be used again`);
  });

  it('has the reason in place of what could never be used, and the other part all the same', async () => {
    server.set('default', rootsSecret(root.certificate));
    server.set('ROOTCA', rootsSecret(root.certificate));
    const { roots, identity } = await settled(watch());
    expect(roots).toMatchObject({ ok: true });
    expect(identity).toEqual({
      ok: false,
      error: lasting(
        `${SUBJECT}Secret "default": update from management server ${uri} (node "node") rejected (NACK): ` +
          'must be tls_certificate, not validation_context',
      ),
    });
  });

  it('keeps what it has while its server is away, and is up to date when that returns', async () => {
    const watching = await watchGood();
    const before = watching.current;
    server.stop();
    await eventually(
      () => {
        clock.advance(1000);
        return logged;
      },
      (lines) => lines.some((line) => line.startsWith(SUBJECT)),
    );
    expect(watching.current).toEqual(before);
    const address = uri;
    await serve({}, address);
    server.set('default', identitySecret(second));
    server.set('ROOTCA', rootsSecret(root.certificate));
    await eventually(
      () => {
        clock.advance(1000);
        return watching.current;
      },
      ({ identity }) => identity !== before.identity,
    );
    expect(watching.current.identity).toEqual(identityOf(second));
    await eventually(
      () => {
        clock.advance(1000);
        return logged;
      },
      (lines) => lines.some((line) => line.includes('Secret "ROOTCA" can be used again')),
    );
    expect(watching.current.roots).toBe(before.roots);
  });

  it('takes the secrets that its config names', async () => {
    server.set('spiffe://a.test/web', identitySecret(first));
    server.set('ALL', rootsSecret(root.certificate));
    const names = {
      tls_certificate_secret: 'spiffe://a.test/web',
      validation_context_secret: 'ALL',
    };
    expect(await settled(watch(names))).toMatchObject({
      roots: { ok: true },
      identity: { ok: true },
    });
  });

  it('works over a socket', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sds-'));
    closing.push(() => rmSync(folder, { recursive: true, force: true }));
    await serve({}, `unix:${join(folder, 'agent.sock')}`);
    const { current } = await watchGood();
    expect(current).toMatchObject({ roots: { ok: true }, identity: { ok: true } });
  });

  it('ends its streams when nothing watches it any more', async () => {
    server.set('default', identitySecret(first));
    const watching = watch();
    await eventually(() => server.openStreams, 2);
    watching.release();
    await eventually(() => server.openStreams, 0);
    // The client hears of the end after the server.
    await eventually(() => clock.pendingTimers, 0);
  });

  it('keeps what is removed', async () => {
    const watching = await watchGood();
    const before = watching.current;
    server.remove('default');
    server.set('ROOTCA', rootsSecret(otherRoot.certificate));
    await eventually(() => watching.current.roots !== before.roots, true);
    expect(watching.current.identity).toBe(before.identity);
  });

  it('says which secret its server does not have', async () => {
    server.set('ROOTCA', rootsSecret(root.certificate));
    const watching = watch();
    const { identity, roots } = await eventually(
      () => {
        if (watching.current.roots !== undefined) clock.advance(1000);
        return watching.current;
      },
      ({ identity }) => identity !== undefined,
    );
    expect(roots).toMatchObject({ ok: true });
    const facts: Readonly<Record<typeof method, string>> = {
      StreamSecrets:
        'did not send it within 15 s and has not answered this node at all: is node.id known to the server?',
      DeltaSecrets: 'does not have it: check the name, and that the server has it for this node',
    };
    expect(identity).toEqual({
      ok: false,
      error: lasting(
        `${SUBJECT}Secret "default": no such resource: management server ${uri} (node "node") ${facts[method]}`,
      ),
    });
    // It is in use as soon as the server has it.
    server.set('default', identitySecret(first));
    await eventually(() => watching.current.identity?.ok, true);
  });
});

describe('sds', () => {
  beforeEach(() => {
    features = [];
  });

  it('has one secret although its server refuses the other, as the agent of SPIRE does', async () => {
    server.stop();
    await serve({ missing: 'refuse' });
    server.set('ROOTCA', rootsSecret(root.certificate));
    const { identity, roots } = await settled(watch());
    expect(roots).toMatchObject({ ok: true });
    expect(identity).toEqual({
      ok: false,
      error: lasting(
        `${SUBJECT}Secret "default": management server ${uri} (node "node") ended the stream with INVALID_ARGUMENT: ` +
          'workload is not authorized for the requested identities ["default"]: see its log',
      ),
    });
  });

  it('uses state of the world where its server has no incremental variant, if it may choose', async () => {
    server.stop();
    await serve({ hasDelta: false });
    features = ['grpc_xds_delta_auto'];
    const { current } = await watchGood();
    expect(current).toMatchObject({ roots: { ok: true }, identity: { ok: true } });
    expect(new Set(server.requests.map(({ method }) => method))).toEqual(
      new Set(['StreamSecrets']),
    );
  });

  it('does not keep the process alive', async () => {
    server.set('default', identitySecret(first));
    server.set('ROOTCA', rootsSecret(root.certificate));
    const modules = [
      'security/providers/sds',
      'transport/grpc-transport',
      'grpc-js',
      'util/clock',
      'util/random',
      'util/logger',
    ].map((name) => join(__dirname, '../../../src', name));
    const script = `
      const [{ createSds }, { GrpcTransportFactory }, { credentials }, { systemClock: clock }, { systemRandom: random },
        { silentLogger: logger }] = ${JSON.stringify(modules)}.map(require);
      const transportFactory = new GrpcTransportFactory({
        credentials: { create: () => ({ ok: true, value: credentials.createInsecure() }) },
        clock,
      });
      const server = { serverUri: ${JSON.stringify(uri)}, features: new Set(), key: '' };
      const config = { server, identityName: 'default', rootsName: 'ROOTCA' };
      const sds = createSds({ transportFactory, random, userAgent: {}, spiffeBundles: true, clock });
      const watch = sds
        .create(config, { instanceName: 'a', node: { id: '' }, clock, logger })
        .watch('', () => {
          const { identity, roots } = watch.current;
          if (!identity?.ok || !roots?.ok) return;
          console.log('loaded');
          clearInterval(waiting);
        });
      const waiting = setInterval(() => undefined, 1000);
    `;
    const args = [
      '--require',
      join(__dirname, '../../support/run-typescript.cjs'),
      '--eval',
      script,
    ];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    closing.push(() => child.kill('SIGKILL'));
    const output: string[] = [];
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => output.push(String(chunk)));
    }
    const [status] = await once(child, 'close');
    expect([output.join(''), status]).toEqual(['loaded\n', 0]);
  }, 60_000);
});
