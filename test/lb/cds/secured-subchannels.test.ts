import {
  CallCredentials,
  ChannelCredentials,
  credentials,
  type ChannelOptions,
  type Subchannel,
  type SubchannelAddress,
} from '../../../src/grpc-js';
import { TransportSecurity, UnusedTlsReports } from '../../../src/lb/cds/transport-security';
import type { ClusterResource } from '../../../src/resources/cluster/cluster';
import type { UpstreamTls } from '../../../src/resources/tls/tls';
import type { EndpointsResource } from '../../../src/resources/endpoints/endpoints';
import {
  ENDPOINT_HOSTNAME_ARG,
  TLS_POLICY_ARG,
  TlsPolicy,
} from '../../../src/security/client/tls-policy';
import type { CertificateSource } from '../../../src/security/providers/certificate-provider';
import { describeForeignXdsCredentials } from '../../../src/security/client/other-copies';
import {
  createXdsChannelCredentials,
  XdsChannelCredentials,
} from '../../../src/security/client/xds-channel-credentials';
import { silentLogger } from '../../../src/util/logger';
import { ownCopy } from '../../../src/util/package-copy';
import { makeLocality } from '../../support/lb-harness';
import { edsCluster } from '../../support/xds-builders';

const tls: UpstreamTls = {
  sni: '',
  autoHostSni: false,
  autoSniSanValidation: false,
  sanMatchers: [],
  rootCertificates: { kind: 'system' },
  identity: undefined,
};
const plain: ClusterResource = edsCluster('c', '');
const secured: ClusterResource = { ...plain, tls };
const certificates: CertificateSource = {
  nodeId: 'n1',
  watch: () => ({ current: { roots: undefined, identity: undefined }, release: () => {} }),
};
const address: SubchannelAddress = { host: '127.0.0.1', port: 80 };
const endpointsOf = (hostname: string): EndpointsResource => {
  const locality = makeLocality('a', ['127.0.0.1:80']);
  const endpoints = locality.endpoints.map((endpoint) => ({ ...endpoint, hostname }));
  const localities = [{ ...locality, endpoints }];
  return { name: 'c', dropCategories: [], priorities: [{ localities }] } as never;
};
const endpoints = endpointsOf('');

const create = () => new TransportSecurity(new UnusedTlsReports(), silentLogger);

/** Takes a configuration. @returns whether a connection must be made in another way. */
const update = (
  security: TransportSecurity,
  ...configuration: Parameters<TransportSecurity['update']>
): boolean => security.update(...configuration);

const hasPolicy = (security: TransportSecurity) =>
  security.argsOf(address, {})[TLS_POLICY_ARG] instanceof TlsPolicy;

/** A subchannel of a channel with such credentials, as grpc-js makes it. */
function subchannelOf(channelCredentials: ChannelCredentials, options: ChannelOptions = {}) {
  const target = { scheme: 'xds', path: 'c' };
  const connector = channelCredentials._createSecureConnector(target, options);
  const real = { options, secureConnector: connector };
  const subchannel = {
    channel: { credentials: channelCredentials },
    getRealSubchannel: () => real,
  };
  return { real, subchannel: subchannel as unknown as Subchannel };
}

describe('the security of a cluster', () => {
  it('fails connections if there are no certificate providers, and makes none in another way', async () => {
    const security = create();
    const instance = { instanceName: 'i', certificateName: '' };
    const own = { ...tls, rootCertificates: { kind: 'instance', ...instance } as const };
    expect(update(security, 'c', { ...plain, tls: own }, undefined, endpoints)).toBe(true);
    const args = security.argsOf(address, {});
    expect(args[TLS_POLICY_ARG]).toBeInstanceOf(TlsPolicy);
    const xds = createXdsChannelCredentials(credentials.createInsecure());
    const { real } = subchannelOf(xds, args);
    await expect(real.secureConnector.waitForReady()).rejects.toThrow(
      'cluster "c": there are no certificate providers',
    );
  });

  it('replaces the arguments that a policy in between has dropped or kept from before', () => {
    const security = create();
    update(security, 'c', secured, certificates, endpoints);
    const first = security.argsOf(address, {});
    const other = { ...tls, sni: 'b.example' };
    expect(update(security, 'c', { ...plain, tls: other }, certificates, endpoints)).toBe(true);
    const second = security.argsOf(address, first);
    expect(second[TLS_POLICY_ARG]).not.toBe(first[TLS_POLICY_ARG]);
    expect(security.argsOf(address, {})).toEqual(second);
  });

  it.each([
    ['from none to TLS', plain, secured, true],
    ['from TLS to none', secured, plain, true],
    ['to the same again', secured, { ...secured, tls: { ...tls } }, false],
  ])('changes %s', (_name, before, after, expected) => {
    for (const channelCredentials of [
      undefined,
      createXdsChannelCredentials(credentials.createInsecure()),
    ]) {
      const security = create();
      update(security, 'c', before, certificates, endpoints);
      if (channelCredentials !== undefined)
        security.observe(subchannelOf(channelCredentials).subchannel);
      expect(update(security, 'c', after, certificates, endpoints)).toBe(expected);
      expect(hasPolicy(security)).toBe(after.tls !== undefined);
    }
  });

  it('takes server names from hostnames by address only once an endpoint has one, and then knows the ones before', () => {
    const named = { ...plain, tls: { ...tls, sni: '', autoHostSni: true } };
    const withHostname = (hostname: string, onAddress = () => {}) => {
      const [priority] = endpoints.priorities;
      const localities = (priority?.localities ?? []).map((locality) => ({
        ...locality,
        endpoints: locality.endpoints.map(({ addresses, ...endpoint }) => ({
          ...endpoint,
          hostname,
          get addresses() {
            onAddress();
            return addresses;
          },
        })),
      }));
      return { ...endpoints, priorities: [{ localities }] };
    };
    const security = create();
    const onAddress = jest.fn();
    update(security, 'c', named, certificates, withHostname('', onAddress));
    expect(update(security, 'c', named, certificates, withHostname('', onAddress))).toBe(false);
    expect(onAddress).not.toHaveBeenCalled();
    expect(update(security, 'c', named, certificates, withHostname('a.example'))).toBe(true);
    expect(update(security, 'c', named, certificates, withHostname('a.example'))).toBe(false);
    expect(update(security, 'c', named, certificates, withHostname(''))).toBe(true);
  });

  it('leaves credentials of grpc-js alone, and keeps the policy for any others', () => {
    const own = Object.assign(Object.create(credentials.createInsecure()) as ChannelCredentials, {
      _createSecureConnector: credentials.createInsecure()._createSecureConnector,
    });
    class Mine extends ChannelCredentials {
      _isSecure = () => true;
      _equals = () => false;
      _createSecureConnector(...args: Parameters<ChannelCredentials['_createSecureConnector']>) {
        return credentials.createInsecure()._createSecureConnector(...args);
      }
    }
    const all: readonly [ChannelCredentials, boolean][] = [
      [credentials.createInsecure(), false],
      [credentials.createSsl(), false],
      [own, false],
      [credentials.createSsl().compose(CallCredentials.createEmpty()), false],
      [new Mine(), true],
      [Object.assign(new Mine(), { channelCredentials: credentials.createInsecure() }), true],
      [
        new Proxy(credentials.createInsecure(), {
          get: (on, key) =>
            key === '_createSecureConnector' ? () => Mine : (Reflect.get(on, key) as unknown),
        }),
        true,
      ],
    ];
    for (const [channelCredentials, isKept] of all) {
      const security = create();
      update(security, 'c', secured, certificates, endpoints);
      const args = security.argsOf(address, {});
      expect(security.isUnused).toBe(false);
      const { subchannel } = subchannelOf(new Mine(), args);
      Reflect.set(subchannel, 'channel', { credentials: channelCredentials });
      security.observe(subchannel);
      expect(hasPolicy(security)).toBe(isKept);
      security.observe(subchannel);
      expect(security.isUnused).toBe(true);
    }
  });

  it('is the same object for subchannels without a policy', () => {
    const security = create();
    const args = { 'grpc.keepalive_time_ms': 1 };
    expect(security.argsOf(address, args)).toBe(security.argsOf(address, args));
  });

  it('refuses connections of xDS credentials of another copy, or of versions without a brand', async () => {
    /** As other packages, and earlier versions, have it. */
    const Other = {
      XdsChannelCredentials: class XdsChannelCredentials extends ChannelCredentials {
        _isSecure = () => true;
        _equals = () => false;
        _createSecureConnector(...args: Parameters<ChannelCredentials['_createSecureConnector']>) {
          return credentials.createInsecure()._createSecureConnector(...args);
        }
      },
    };
    const foreign = Object.assign(
      Object.create(credentials.createInsecure()) as ChannelCredentials,
      {
        [Symbol.for('grpc-xds.channel-credentials')]: { version: '9.9.9', path: '/other' },
      },
    );
    const reasons = [
      [
        foreign,
        `grpc-xds 9.9.9 in /other, while xds: targets are those of grpc-xds ${ownCopy.version}`,
      ],
      [
        new Other.XdsChannelCredentials(),
        'create them by createXdsChannelCredentials() of the copy',
      ],
    ] as const;
    for (const [channelCredentials, reason] of reasons) {
      const security = create();
      update(security, 'c', secured, certificates, endpoints);
      const { real, subchannel } = subchannelOf(channelCredentials, security.argsOf(address, {}));
      security.observe(subchannel);
      await expect(real.secureConnector.waitForReady()).rejects.toThrow(reason);
    }
  });

  it('does not go by the name of a class that a bundler has shortened', () => {
    const name = Object.getOwnPropertyDescriptor(XdsChannelCredentials, 'name');
    Object.defineProperty(XdsChannelCredentials, 'name', {
      ...name,
      value: ChannelCredentials.name,
    });
    try {
      const ssl = credentials.createSsl();
      expect(describeForeignXdsCredentials(ssl)).toBeUndefined();
    } finally {
      Object.defineProperty(XdsChannelCredentials, 'name', { ...name });
    }
  });

  it('is reported once if no name of a server is compared', () => {
    const uri = {
      type: 'uri',
      matcher: { kind: 'exact', text: 'spiffe://td/a', ignoreCase: false },
    } as const;
    const rows: readonly [Partial<UpstreamTls>, string, boolean][] = [
      [{}, '', true],
      [{ sni: 'a.example' }, '', true],
      [{ autoSniSanValidation: true }, '', true],
      [{ autoSniSanValidation: true, autoHostSni: true }, '', true],
      [{ autoSniSanValidation: true, sni: 'a.example' }, '', false],
      [{ autoSniSanValidation: true, sni: '127.0.0.1' }, '', false],
      [{ autoSniSanValidation: true, autoHostSni: true }, '127.0.0.1', false],
      [{ sanMatchers: [uri] }, '', false],
    ];
    for (const [extra, hostname, isReported] of rows) {
      const lines: string[] = [];
      const logger = { ...silentLogger, info: (text: () => string) => lines.push(text()) };
      const reports = new UnusedTlsReports();
      for (let time = 0; time < 2; time++) {
        const security = new TransportSecurity(reports, logger);
        update(
          security,
          'c',
          { ...plain, tls: { ...tls, ...extra } },
          certificates,
          endpointsOf(hostname),
        );
        security.argsOf(address, {});
      }
      const line = expect.stringContaining(
        'xds: Cluster "c" (node "n1"): no name of its servers is compared',
      ) as string;
      expect(lines).toEqual(isReported ? [line] : []);
    }
  });

  it('needs other connections when the name of a server changes, if that is the one of the endpoint', () => {
    const updateName = (
      security: TransportSecurity,
      hostname: string,
      extra: Partial<UpstreamTls>,
    ) =>
      update(
        security,
        'c',
        { ...plain, tls: { ...tls, ...extra } },
        certificates,
        endpointsOf(hostname),
      );
    const security = create();
    const auto = { autoHostSni: true };
    expect(updateName(security, 'a.example', {})).toBe(true);
    expect(updateName(security, 'b.example', {})).toBe(false);
    expect(security.argsOf(address, {})[ENDPOINT_HOSTNAME_ARG]).toBeUndefined();
    expect(updateName(security, 'b.example', auto)).toBe(true);
    expect(security.argsOf(address, {})[ENDPOINT_HOSTNAME_ARG]).toBe('b.example');
    expect(updateName(security, 'b.example', auto)).toBe(false);
    expect(updateName(security, 'b.example:80', auto)).toBe(false);
    expect(updateName(security, '', auto)).toBe(true);
    expect(security.argsOf(address, {})[ENDPOINT_HOSTNAME_ARG]).toBeUndefined();
    expect(updateName(security, '127.0.0.1', auto)).toBe(true);
  });
});

describe('xDS credentials', () => {
  const insecure = credentials.createInsecure();
  const xds = createXdsChannelCredentials(insecure);
  class Extended extends XdsChannelCredentials {}
  class Changed extends XdsChannelCredentials {
    override _createSecureConnector(
      ...args: Parameters<XdsChannelCredentials['_createSecureConnector']>
    ) {
      return insecure._createSecureConnector(...args);
    }
  }
  it.each<[string, ChannelCredentials, boolean]>([
    ['others with the same fallback', createXdsChannelCredentials(insecure), true],
    ['others with another fallback', createXdsChannelCredentials(credentials.createSsl()), false],
    ['a subclass that changes nothing', new Extended(insecure), true],
    ['a subclass that connects in another way', new Changed(insecure), false],
    ['an object that inherits', Object.create(xds) as ChannelCredentials, true],
    ['a proxy', new Proxy(xds, {}), true],
    ['the fallback', insecure, false],
  ])('share connections with %s: %s', (_name, other, expected) => {
    expect(xds._equals(other)).toBe(expected);
    expect(other._equals(xds)).toBe(expected);
  });
});
