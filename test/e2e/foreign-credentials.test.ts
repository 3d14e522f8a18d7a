// xDS credentials in other hands: of another copy of this package, wrapped, extended. A cluster with TLS is never called in
// the clear, whatever is around its credentials.

import * as grpc from '@grpc/grpc-js';
import { XdsChannelCredentials as PeerCredentials } from '@grpc/grpc-js-xds';
import { createXdsChannelCredentials, XdsChannelCredentials } from '../../src';
import type { EchoClient } from '../support/echo-backend';
import { EchoBackend } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { simpleResources, registerAnew, useMesh } from '../support/mesh';
import { TestCertificates } from '../support/test-certificates';
import { TlsBackend } from '../support/tls-backend';
import { edsClusterJson } from '../support/xds-json';
import { bootstrapWithFiles, useFolder, verifiedTls } from '../support/tls';

const certificates = new TestCertificates();
const root = certificates.authority('root');
const server = root.sign('server', { names: ['URI:spiffe://td/server'] });

const { credentials } = grpc;
const insecure = credentials.createInsecure();
const token = grpc.CallCredentials.createFromMetadataGenerator((_options, callback) => {
  const metadata = new grpc.Metadata();
  metadata.set('authorization', 'Bearer secret');
  callback(null, metadata);
});

/** Another copy of this package, with the same copy of grpc-js. */
function otherCopy(): { createXdsChannelCredentials: typeof createXdsChannelCredentials } {
  let copy: unknown;
  const loadConnectors = (of: unknown) => {
    const { createXdsChannelCredentials: create } = of as ReturnType<typeof otherCopy>;
    create(insecure)._createSecureConnector({ scheme: 'dns', path: 'a' }, {}).destroy();
  };
  jest.isolateModules(() => {
    jest.doMock('@grpc/grpc-js', () => grpc);
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- a second instance of the modules
    copy = require('../../src');
    // What it loads late would otherwise be modules of this copy.
    loadConnectors(copy);
    jest.dontMock('@grpc/grpc-js');
  });
  return copy as { createXdsChannelCredentials: typeof createXdsChannelCredentials };
}

/** Credentials of an application that adds something of its own, and lets others do the rest. */
class Wrapper extends grpc.ChannelCredentials {
  constructor(readonly inner: grpc.ChannelCredentials) {
    super();
  }

  _isSecure(): boolean {
    return this.inner._isSecure();
  }

  _equals(other: grpc.ChannelCredentials): boolean {
    return other instanceof Wrapper && this.inner._equals(other.inner);
  }

  _createSecureConnector(
    ...args: Parameters<grpc.ChannelCredentials['_createSecureConnector']>
  ): ReturnType<grpc.ChannelCredentials['_createSecureConnector']> {
    return this.inner._createSecureConnector(...args);
  }
}

/** Creates what makes connections only when it is needed. */
class LateWrapper extends Wrapper {
  override _createSecureConnector(
    ...args: Parameters<Wrapper['_createSecureConnector']>
  ): ReturnType<Wrapper['_createSecureConnector']> {
    let late: ReturnType<Wrapper['_createSecureConnector']> | undefined;
    const get = () => (late ??= this.inner._createSecureConnector(...args));
    return {
      connect: (socket) => get().connect(socket),
      waitForReady: async () => {
        await Promise.resolve();
        return get().waitForReady();
      },
      getCallCredentials: () => grpc.CallCredentials.createEmpty(),
      destroy: () => late?.destroy(),
    };
  }
}

/** Hands on only the options that it knows. */
class ForgetfulWrapper extends Wrapper {
  override _createSecureConnector(
    target: Parameters<Wrapper['_createSecureConnector']>[0],
    _options: object,
    callCredentials?: grpc.CallCredentials,
  ): ReturnType<Wrapper['_createSecureConnector']> {
    return this.inner._createSecureConnector(target, {}, callCredentials);
  }
}

class Forgetful extends XdsChannelCredentials {
  override _createSecureConnector(
    target: Parameters<Wrapper['_createSecureConnector']>[0],
    _options: object,
    callCredentials?: grpc.CallCredentials,
  ): ReturnType<Wrapper['_createSecureConnector']> {
    return super._createSecureConnector(target, {}, callCredentials);
  }
}

/** Has members of its own with the names of those of grpc-js. */
class Namesake extends Wrapper {
  readonly channelCredentials = insecure;
}

class Extended extends XdsChannelCredentials {}

const OWN: readonly [string, () => grpc.ChannelCredentials][] = [
  ['credentials as they are', () => createXdsChannelCredentials(insecure)],
  ['combined call credentials', () => createXdsChannelCredentials(insecure).compose(token)],
  ['a wrapper', () => new Wrapper(createXdsChannelCredentials(insecure))],
  [
    'a wrapper of combined ones',
    () => new Wrapper(createXdsChannelCredentials(insecure).compose(token)),
  ],
  ['a wrapper that connects late', () => new LateWrapper(createXdsChannelCredentials(insecure))],
  [
    'a wrapper with insecure ones as a member',
    () => new Namesake(createXdsChannelCredentials(insecure)),
  ],
  ['a subclass', () => new Extended(insecure)],
  [
    'an object that inherits',
    () => Object.create(createXdsChannelCredentials(insecure)) as grpc.ChannelCredentials,
  ],
  ['a proxy', () => new Proxy(createXdsChannelCredentials(insecure), {})],
  [
    'credentials whose fallback is xDS credentials',
    () => createXdsChannelCredentials(createXdsChannelCredentials(insecure)),
  ],
];

const FORGETFUL: readonly [string, () => grpc.ChannelCredentials][] = [
  ['a wrapper', () => new ForgetfulWrapper(createXdsChannelCredentials(insecure))],
  ['a subclass', () => new Forgetful(insecure)],
  [
    'a wrapper of credentials of another copy',
    () => new ForgetfulWrapper(otherCopy().createXdsChannelCredentials(insecure)),
  ],
];

const FOREIGN: readonly [string, () => grpc.ChannelCredentials][] = [
  ['credentials of another copy', () => otherCopy().createXdsChannelCredentials(insecure)],
  [
    'combined ones of another copy',
    () => otherCopy().createXdsChannelCredentials(insecure).compose(token),
  ],
  ['a wrapper of those', () => new Wrapper(otherCopy().createXdsChannelCredentials(insecure))],
];

describe('a cluster with TLS, called with', () => {
  const mesh = useMesh();
  const folder = useFolder();
  let secure: TlsBackend;
  let plain: EchoBackend;

  beforeAll(async () => {
    folder.write('ca.pem', root.certificate);
    plain = await EchoBackend.start('plain');
    secure = await TlsBackend.start(server);
  });
  afterAll(() => {
    plain.stop();
    secure.stop();
    certificates.close();
  });
  beforeEach(() => {
    const files = { mesh: { ca_certificate_file: folder.path('ca.pem') } };
    registerAnew({ bootstrap: bootstrapWithFiles(mesh.address, files) });
  });

  function serve(port: number, names: readonly string[] | undefined): void {
    const extra = names === undefined ? {} : { transport_socket: verifiedTls('mesh', names) };
    mesh.serve({ ...simpleResources([port]), clusters: [edsClusterJson('echo', extra)] });
  }

  const open = (own: grpc.ChannelCredentials) => mesh.client({}, undefined, own);

  const failureOf = async (client: EchoClient) => (await client.failure()).details;

  describe.each(OWN)('%s', (_name, create) => {
    it('is called over TLS, under the matchers that are in force', async () => {
      serve(secure.port, ['spiffe://td/server']);
      const client = open(create());
      expect(await client.say()).toContain('CN=server');
      serve(secure.port, ['spiffe://td/other']);
      const details = await eventually(
        () => failureOf(client).catch(() => ''),
        (text) => text !== '',
      );
      expect(details).toContain('do not satisfy the matcher of the cluster');
    });

    it('is never called in the clear', async () => {
      serve(plain.port, []);
      const client = open(create());
      const before = plain.calls;
      for (let call = 0; call < 3; call++) {
        expect(await failureOf(client)).toContain('the server does not speak TLS on this port');
      }
      expect(plain.calls).toBe(before);
    });
  });

  it.each(OWN)(
    '%s: is not called over connections made before it had TLS',
    async (_name, create) => {
      serve(plain.port, undefined);
      const client = open(create());
      const first = await client.say().catch((error: Error) => error.message);
      expect(first).toMatch(/^plain$|call credentials are not sent over an insecure connection/);
      serve(plain.port, []);
      const details = await eventually(
        () => failureOf(client).catch(() => ''),
        (text) => text.includes('TLS'),
      );
      expect(details).toContain('the server does not speak TLS on this port');
    },
  );

  it.each(OWN)('%s: sends call credentials only over TLS', async (_name, create) => {
    serve(plain.port, undefined);
    const before = plain.calls;
    const { code } = await open(create()).failure({ credentials: token });
    expect(code).toBe(grpc.status.UNAUTHENTICATED);
    expect(plain.calls).toBe(before);
  });

  it.each(FORGETFUL)('%s that drops the options: is not called', async (_name, create) => {
    serve(plain.port, []);
    const before = plain.calls;
    const details = await failureOf(open(create()));
    expect(details).toContain('the security configuration of the cluster is unknown');
    expect(plain.calls).toBe(before);
  });

  it.each(FOREIGN)('%s: is not called, and the error names both copies', async (_name, create) => {
    serve(plain.port, []);
    const before = plain.calls;
    const details = await failureOf(open(create()));
    expect(details).toMatch(
      /grpc-xds \d\S+ in \S+, while xds: targets are those of grpc-xds \d\S+ in \S+: install one copy for both \(see npm ls grpc-xds\)/,
    );
    expect(plain.calls).toBe(before);
  });

  it('a wrapper of credentials of @grpc/grpc-js-xds: is not called in the clear, and the error says what to use', async () => {
    serve(plain.port, []);
    const before = plain.calls;
    const details = await failureOf(open(new Wrapper(new PeerCredentials(insecure))));
    expect(details).toMatch(
      /connected in plain text without reading its policy.*createXdsChannelCredentials\(\)/,
    );
    expect(plain.calls).toBe(before);
  });

  it('credentials of the application that connect by TLS of their own: is called', async () => {
    serve(secure.port, []);
    const own = credentials.createSsl(Buffer.from(root.certificate), null, null, {
      checkServerIdentity: () => undefined,
    });
    expect(await open(new Wrapper(own)).say()).toContain('CN=server');
  });
});
