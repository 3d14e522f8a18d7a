import type { ServerConfig } from '../../../src/bootstrap/bootstrap';
import { parseBootstrap } from '../../../src/bootstrap/bootstrap-parser';
import {
  parseGrpcService,
  type GrpcService,
} from '../../../src/http-filters/grpc-service/grpc-service-parser';
import { Violations } from '../../../src/util/violations';
import { GrpcService as Message } from '../../../src/wire/generated/envoy/config/core/v3/grpc_service';
import { encodeMessage, serverWith } from '../../resources/decode-json';
import type { Json } from '../../support/xds-json';

const CREDENTIALS = 'type.googleapis.com/envoy.extensions.grpc_service';
const channel = (type: string, extra: Json = {}): Json => ({
  '@type': `${CREDENTIALS}.channel_credentials.${type}`,
  ...extra,
});
const insecure = channel('insecure.v3.InsecureCredentials');
const googleDefault = channel('google_default.v3.GoogleDefaultCredentials');
const xds = (fallback_credentials?: Json) =>
  channel('xds.v3.XdsCredentials', fallback_credentials && { fallback_credentials });
const tls = (root?: string, identity?: string) =>
  channel('tls.v3.TlsCredentials', {
    ...(root && { root_certificate_provider: { instance_name: root, certificate_name: 'ca' } }),
    ...(identity && { identity_certificate_provider: { instance_name: identity } }),
  });
const unknown: Json = {
  '@type': 'type.googleapis.com/xds.type.v3.TypedStruct',
  type_url: 'type.googleapis.com/a.Type',
};
const accessToken = (token: string): Json => ({
  '@type': `${CREDENTIALS}.call_credentials.access_token.v3.AccessTokenCredentials`,
  token,
});

const provider = { pluginName: 'file_watcher', config: {} };
const node = { id: 'n', cluster: '', locality: undefined, metadata: undefined };
const trusted: ServerConfig = {
  ...serverWith('trusted_xds_server'),
  serviceCertificates: { certificateProviders: new Map([['files', provider]]), node, source: 's' },
};
const ROOT = { instanceName: 'files', certificateName: 'ca', provider };
const TARGET = 'dns:///authz.example.com:443';
const allowed = { channelCreds: { type: 'tls', config: undefined }, callCreds: [] };
const untrusted: ServerConfig = { ...serverWith(), allowedServices: new Map([[TARGET, allowed]]) };

const google = (extra: Json = {}): Json => ({
  google_grpc: { target_uri: TARGET, channel_credentials_plugin: [insecure], ...extra },
});

function parse(
  json: Json,
  server: ServerConfig | undefined = trusted,
): GrpcService | readonly string[] {
  const violations = Violations.root();
  const bytes = encodeMessage('envoy.config.core.v3.GrpcService', json);
  const parsed = parseGrpcService(Message.decode(bytes), server, violations);
  expect(parsed === undefined).toBe(violations.count > 0);
  return parsed ?? violations.all;
}

const credentialsOf = (json: Json, server?: ServerConfig) => {
  const parsed = parse(json, server);
  return 'target' in parsed ? [parsed.channelCreds, parsed.callCreds] : parsed;
};

const INSECURE = { type: 'insecure', config: undefined };
const GOOGLE = { type: 'google_default', config: undefined };

describe('the credentials of a service', () => {
  it.each<[string, Json, readonly unknown[]]>([
    ['insecure', {}, [INSECURE, []]],
    [
      'the first supported',
      { channel_credentials_plugin: [unknown, googleDefault, insecure] },
      [GOOGLE, []],
    ],
    [
      'xds',
      { channel_credentials_plugin: [xds(googleDefault)] },
      [{ type: 'xds', config: { fallback: GOOGLE } }, []],
    ],
    [
      'xds without fallback',
      { channel_credentials_plugin: [xds()] },
      ['google_grpc.channel_credentials_plugin[0].fallback_credentials: field not present'],
    ],
    [
      'xds with an unknown fallback',
      { channel_credentials_plugin: [xds(unknown)] },
      [
        'google_grpc.channel_credentials_plugin[0].fallback_credentials: none of the types "xds.type.v3.TypedStruct" is supported',
      ],
    ],
    [
      'TLS',
      { channel_credentials_plugin: [tls('files')] },
      [{ type: 'tls', config: { root: ROOT, identity: undefined, node } }, []],
    ],
    [
      'TLS with a client certificate, as fallback',
      { channel_credentials_plugin: [xds(tls('files', 'files'))] },
      [
        {
          type: 'xds',
          config: {
            fallback: {
              type: 'tls',
              config: { root: ROOT, identity: { ...ROOT, certificateName: '' }, node },
            },
          },
        },
        [],
      ],
    ],
    [
      'TLS without roots',
      { channel_credentials_plugin: [tls(undefined, 'files')] },
      ['google_grpc.channel_credentials_plugin[0].root_certificate_provider: field not present'],
    ],
    [
      'TLS of instances that are not in the bootstrap',
      { channel_credentials_plugin: [tls('a', 'b')] },
      ['root', 'identity'].map(
        (field, i) =>
          `google_grpc.channel_credentials_plugin[0].${field}_certificate_provider.instance_name: "${'ab'[i]}" is not in certificate_providers of the bootstrap`,
      ),
    ],
    [
      'unknown ones',
      { channel_credentials_plugin: [unknown] },
      [
        'google_grpc.channel_credentials_plugin: none of the types "xds.type.v3.TypedStruct" is supported',
      ],
    ],
    [
      'none',
      { channel_credentials_plugin: [] },
      ['google_grpc.channel_credentials_plugin: must not be empty'],
    ],
    [
      'all tokens, and no unknown call credentials',
      { call_credentials_plugin: [accessToken('a'), unknown, accessToken('b')] },
      [
        INSECURE,
        [
          { type: 'access_token', config: { token: 'a' } },
          { type: 'access_token', config: { token: 'b' } },
        ],
      ],
    ],
    [
      'an empty token',
      { call_credentials_plugin: [accessToken('')] },
      ['google_grpc.call_credentials_plugin[0].token: must not be empty'],
    ],
  ])('of a trusted server may be %s', (_case, extra, expected) => {
    expect(credentialsOf(google(extra))).toMatchObject(expected);
  });

  it('are those of the bootstrap for a server that is not trusted', () => {
    const json = google({
      channel_credentials_plugin: [unknown],
      call_credentials_plugin: [accessToken('a')],
    });
    expect(credentialsOf(json, untrusted)).toEqual([allowed.channelCreds, []]);
  });

  it.each([
    ['another target', untrusted],
    ['a server without such services', serverWith()],
  ])('are refused for %s', (_case, server) => {
    expect(parse(google({ target_uri: 'dns:///other:1' }), server)).toEqual([
      'google_grpc.target_uri: "dns:///other:1" must be in allowed_grpc_services of the bootstrap, or the management server ' +
        'must have the feature trusted_xds_server',
    ]);
  });
});

describe('a service', () => {
  it('has a timeout and headers, and a key without them', () => {
    const json = {
      ...google(),
      timeout: '1.5s',
      initial_metadata: [
        { key: 'A', value: 'v' },
        { key: 'b-bin', raw_value: Buffer.from('AAEC').toString('base64') },
        { key: 'c-bin', value: 'AAEC' },
      ],
    };
    const parsed = parse(json);
    expect(parsed).toMatchObject({
      target: TARGET,
      timeoutMs: 1500,
      metadata: [
        ['a', 'v'],
        ['b-bin', Buffer.from('AAEC')],
        ['c-bin', Buffer.from([0, 1, 2])],
      ],
    });
    expect(parsed).toMatchObject({ key: (parse(google()) as GrpcService).key });
  });

  it.each<[string, Json, string]>([
    ['no target', {}, 'must have google_grpc'],
    ['a cluster of Envoy', { envoy_grpc: { cluster_name: 'c' } }, 'must have google_grpc'],
    ['an empty target', google({ target_uri: '' }), 'google_grpc.target_uri: must not be empty'],
    [
      'a scheme without a resolver',
      google({ target_uri: 'nope:///a' }),
      'google_grpc.target_uri: must be a gRPC target: there is no resolver for "nope"',
    ],
    [
      'a bad target',
      google({ target_uri: 'dns:///a:0' }),
      'google_grpc.target_uri: must have a port from 1 to 65535, not "0"',
    ],
    ['no time', { ...google(), timeout: '0s' }, 'timeout: must be greater than 0'],
    [
      'a negative time',
      { ...google(), timeout: '-1s' },
      'timeout.seconds: must be from 0 to 315576000000, not -1',
    ],
    ...(
      [
        ['', 'must not be empty'],
        ['a b', 'must be a header name, not "a b"'],
        ['host', 'must not be "host", which gRPC sets'],
        [':path', 'must not be ":path", which gRPC sets'],
        ['x'.repeat(16_384), 'must be shorter than 16384 characters'],
      ] as const
    ).map(([key, reason]): [string, Json, string] => [
      `a header ${key.slice(0, 9)}`,
      { ...google(), initial_metadata: [{ key }] },
      `initial_metadata[0].key: ${reason}`,
    ]),
    [
      'a long value',
      { ...google(), initial_metadata: [{ key: 'a', value: 'x'.repeat(16_384) }] },
      'initial_metadata[0].value: must be shorter than 16384 bytes',
    ],
  ])('is rejected with %s', (_case, json, reason) => {
    expect(parse(json)).toEqual([reason]);
  });

  it.each(['xds:///authz', 'unix:/tmp/authz', 'authz.example.com:443'])(
    'may be %s',
    (target_uri) => {
      expect(parse(google({ target_uri }))).toMatchObject({ target: target_uri });
    },
  );
});

describe('allowed_grpc_services of the bootstrap', () => {
  const server = { server_uri: 'xds.test:443', channel_creds: [{ type: 'insecure' }] };
  const support = {
    channelCreds: new Set(['insecure', 'tls']),
    callCreds: new Set(['jwt_token_file']),
    certificateProviders: new Set<string>(),
  };
  const read = (allowed_grpc_services: unknown, extAuthz = true) => {
    const json = { xds_servers: [server], authorities: { a: {} }, allowed_grpc_services };
    const flags = { federation: true, fallback: true, endpointFallback: true, extAuthz };
    const parsed = parseBootstrap(json, 'test', support, flags);
    return parsed.ok
      ? [parsed.value.servers, parsed.value.authorities.get('a')?.servers].map(
          (servers) => servers?.[0]?.allowedServices,
        )
      : parsed.error;
  };
  const creds = {
    channel_creds: [{ type: 'new' }, { type: 'tls' }],
    call_creds: [{ type: 'jwt_token_file', config: {} }, { type: 'new' }],
  };

  it('belong to every server', () => {
    const services = new Map([
      [
        TARGET,
        {
          channelCreds: { type: 'tls', config: undefined },
          callCreds: [{ type: 'jwt_token_file', config: {} }],
        },
      ],
    ]);
    expect(read({ [TARGET]: creds })).toEqual([services, services]);
  });

  it('are not read without the filter', () => {
    expect(read({ [TARGET]: 1 }, false)).toEqual([undefined, undefined]);
  });

  it('need channel credentials of a supported type', () => {
    expect(read({ a: {}, b: { channel_creds: [{ type: 'new' }] } })).toEqual([
      'allowed_grpc_services["a"].channel_creds: field not present',
      'allowed_grpc_services["b"].channel_creds: none of the types "new" is supported; supported are "insecure", "tls"',
    ]);
  });
});
