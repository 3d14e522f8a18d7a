import { ClientConfig } from '../../../src/wire/generated/envoy/service/status/v3/csds';
import { redact, resourceToJson, withoutSecrets } from '../../../src/observe/admin/resource-report';
import { describeResource } from '../../../src/observe/admin/status-queue';
import { hideHeaders } from '../../../src/util/secrets';
import { redactSecrets, sanitizeText } from '../../../src/util/text';
import { encodeJson } from '../../../src/wire/proto-json/encode-json';
import type { JsonObject } from '@bufbuild/protobuf';

const SECRET = 's3cr3t-value';
const ROUTES = 'envoy.config.route.v3.RouteConfiguration';
const CLUSTER = 'envoy.config.cluster.v3.Cluster';

function encode(messageName: string, json: JsonObject): Uint8Array {
  const encoded = encodeJson(messageName, json);
  if (!encoded.ok) throw new Error(JSON.stringify(encoded.error));
  return encoded.value;
}

/** What is shown of a resource: in CSDS, and as JSON in `inspect()`, on the page and in dumps. */
function shownOf(messageName: string, json: JsonObject): readonly string[] {
  const typeUrl = `type.googleapis.com/${messageName}`;
  const bytes = encode(messageName, json);
  const accepted = { version: '1', bytes, updatedAtMs: 0 };
  const resource = { typeUrl, name: 'r', status: 'ACKED', accepted, watchers: 1 } as const;
  const none = { failure: undefined, waitingSinceMs: undefined };
  const csds = describeResource({ ...resource, ...none }, { excludeContents: false });
  const value = csds.xdsConfig?.value ?? Buffer.alloc(0);
  return [Buffer.from(value).toString('latin1'), JSON.stringify(resourceToJson(typeUrl, bytes))];
}

function routes(match: JsonObject): JsonObject {
  const route = { match: { prefix: '/', ...match }, route: { cluster: 'cookie' } };
  return { name: 'r', virtual_hosts: [{ name: 'all', domains: ['*'], routes: [route] }] };
}

/** A field with a length in the encoding of protobuf, of fewer than 128 × 128 bytes. */
function field(number: number, value: string | Uint8Array): Buffer {
  const bytes = Buffer.from(value);
  const { length } = bytes;
  const size = length < 128 ? [length] : [(length & 127) | 128, length >> 7];
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...size]), bytes]);
}

const input = (header: string): JsonObject => ({
  name: 'input',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput',
    header_name: header,
  },
});
const action: JsonObject = {
  action: {
    name: 'a',
    typed_config: { '@type': 'type.googleapis.com/envoy.config.core.v3.Locality', zone: 'shown' },
  },
};

describe('a secret in a resource', () => {
  afterEach(() => hideHeaders());

  it.each<[string, string, JsonObject]>([
    ...['authorization', 'Cookie', 'proxy-authorization', 'set-cookie'].flatMap((name) =>
      [{ exact: SECRET }, { safe_regex: { regex: SECRET } }, { contains: SECRET }].map(
        (string_match): [string, string, JsonObject] => [
          `${name} ${Object.keys(string_match).join('')}`,
          ROUTES,
          routes({ headers: [{ name, string_match }] }),
        ],
      ),
    ),
    [
      'the old form of a matcher',
      ROUTES,
      routes({ headers: [{ name: 'cookie', exact_match: SECRET }] }),
    ],
    [
      'a key of metadata',
      CLUSTER,
      {
        name: 'c',
        metadata: { filter_metadata: { app: { password: SECRET, api_key: [SECRET] } } },
      },
    ],
    [
      'a key of nested metadata',
      CLUSTER,
      { name: 'c', metadata: { filter_metadata: { app: { db: { token: { value: SECRET } } } } } },
    ],
    [
      'a private key',
      CLUSTER,
      {
        name: 'c',
        transport_socket: {
          name: 'tls',
          typed_config: {
            '@type':
              'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
            common_tls_context: { tls_certificates: [{ private_key: { inline_string: SECRET } }] },
          },
        },
      },
    ],
    ...[
      'db_password',
      'authToken',
      'api-key',
      'x-api-key',
      'accessToken',
      'passphrase',
      'authorization',
      'Cookie',
      'credentials',
      'signing_key',
      'refresh_token',
      'secrets',
    ].map((key): [string, string, JsonObject] => [
      `metadata ${key}`,
      CLUSTER,
      { name: 'c', metadata: { filter_metadata: { app: { [key]: SECRET } } } },
    ]),
    [
      'a URL and a token in metadata',
      CLUSTER,
      {
        name: 'c',
        metadata: {
          filter_metadata: {
            app: { dsn: `pg://u:${SECRET}@db`, header: `Bearer ${SECRET.repeat(2)}` },
          },
        },
      },
    ],
    [
      'a rewrite of a hash policy',
      ROUTES,
      {
        name: 'r',
        virtual_hosts: [
          {
            name: 'all',
            domains: ['*'],
            routes: [
              {
                match: { prefix: '/' },
                route: {
                  cluster: 'c',
                  hash_policy: [
                    {
                      header: {
                        header_name: 'Cookie',
                        regex_rewrite: { pattern: { regex: SECRET }, substitution: SECRET },
                      },
                    },
                  ],
                },
              },
            ],
          },
        ],
      },
    ],
    ...['name', 'key', 'header', 'headerName'].map((key): [string, string, JsonObject] => [
      `an object of JSON whose ${key} is a hidden header`,
      CLUSTER,
      {
        name: 'c',
        metadata: { filter_metadata: { app: { add: [{ [key]: 'Cookie', to: [SECRET] }] } } },
      },
    ]),
    [
      'a query parameter',
      ROUTES,
      routes({ query_parameters: [{ name: 'access_token', string_match: { exact: SECRET } }] }),
    ],
    [
      'a predicate',
      'xds.type.matcher.v3.Matcher',
      {
        matcher_list: {
          matchers: [
            {
              predicate: {
                single_predicate: { input: input('authorization'), value_match: { exact: SECRET } },
              },
              on_match: action,
            },
          ],
        },
      },
    ],
    [
      'a matcher tree',
      'xds.type.matcher.v3.Matcher',
      { matcher_tree: { input: input('cookie'), exact_match_map: { map: { [SECRET]: action } } } },
    ],
  ])('is hidden everywhere: %s', (_, messageName, json) => {
    expect(Buffer.from(encode(messageName, json)).toString('latin1')).toContain(SECRET);
    for (const shown of shownOf(messageName, json)) {
      expect(shown).not.toContain(SECRET);
      expect(shown).toContain('[redacted]');
    }
  });

  it('leaves everything else as it is', () => {
    const json = routes({
      headers: [
        { name: 'cookie', string_match: { exact: SECRET } },
        { name: 'x-user', string_match: { exact: 'visible' } },
      ],
    });
    for (const shown of shownOf(ROUTES, json)) {
      for (const text of ['visible', 'x-user', 'cookie']) expect(shown).toContain(text);
    }
    const [csds = ''] = shownOf(ROUTES, routes({}));
    expect(csds).toBe(Buffer.from(encode(ROUTES, routes({}))).toString('latin1'));
    const [, tree = ''] = shownOf('xds.type.matcher.v3.Matcher', {
      matcher_tree: { input: input('cookie'), exact_match_map: { map: { [SECRET]: action } } },
    });
    expect(tree).toContain('shown');
  });

  it('is that of the headers that the application lists, and of no others', () => {
    const json = routes({
      headers: [
        { name: 'x-session', string_match: { exact: SECRET } },
        { name: 'cookie', string_match: { exact: 'visible' } },
      ],
    });
    hideHeaders(['X-Session']);
    for (const shown of shownOf(ROUTES, json)) {
      expect(shown).not.toContain(SECRET);
      expect(shown).toContain('visible');
    }
    hideHeaders([]);
    for (const shown of shownOf(ROUTES, json)) expect(shown).toContain(SECRET);
  });

  it('is left out of what this package has no schema for', () => {
    const header = field(1, Buffer.concat([field(1, 'authorization'), field(2, SECRET)]));
    const unknownType = Buffer.concat([
      field(1, 'type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBACPerRoute'),
      field(2, header),
    ]);
    const perRoute = Buffer.concat([field(1, 'rbac'), field(2, unknownType)]);
    const virtualHost = Buffer.concat([
      field(1, 'all'),
      field(2, '*'),
      field(7, header),
      field(15, perRoute),
      field(9, 'unknown and shown'),
    ]);
    const bytes = Buffer.concat([field(1, 'r'), field(2, virtualHost), field(6, header)]);
    const typeUrl = `type.googleapis.com/${ROUTES}`;
    const shown = Buffer.from(withoutSecrets(typeUrl, bytes) ?? []).toString('latin1');
    expect(bytes.toString('latin1')).toContain(SECRET);
    expect(shown).not.toContain(SECRET);
    for (const text of ['RBACPerRoute', 'unknown and shown']) expect(shown).toContain(text);
  });

  it('is left out of conditions of routes that this package has no schema for', () => {
    // As `RouteMatch.cookies` of Envoy: a name, and a matcher.
    const condition = Buffer.concat([field(1, 'sid'), field(2, field(1, SECRET))]);
    const cookies = Buffer.concat([Buffer.from([0x8a, 0x01, condition.length]), condition]);
    const match = Buffer.concat([field(1, '/'), cookies, Buffer.from([0x90, 0x01, 1])]);
    const route = Buffer.concat([field(1, match), field(2, field(1, 'shown'))]);
    const virtualHost = Buffer.concat([field(1, 'all'), field(2, '*'), field(3, route)]);
    const bytes = Buffer.concat([field(1, 'r'), field(2, virtualHost)]);
    const shownWith = () =>
      Buffer.from(withoutSecrets(`type.googleapis.com/${ROUTES}`, bytes) ?? []).toString('latin1');
    expect(shownWith()).not.toContain(SECRET);
    for (const text of ['shown', '\x90\x01\x01']) expect(shownWith()).toContain(text);
    hideHeaders([]);
    expect(shownWith()).toContain(SECRET);
  });

  it('is no field that is called as a hidden header', () => {
    const hash_policy = [{ cookie: { name: 'session-cookie' } }];
    const route = { match: { prefix: '/' }, route: { cluster: 'c', hash_policy } };
    const json = { name: 'r', virtual_hosts: [{ name: 'all', domains: ['*'], routes: [route] }] };
    for (const shown of shownOf(ROUTES, json)) expect(shown).toContain('session-cookie');
  });

  it('is left out with the whole resource if that cannot be decoded', () => {
    const bytes = Buffer.concat([
      encode(ROUTES, routes({})),
      Buffer.from('\xffpassword', 'latin1'),
    ]);
    expect(withoutSecrets(`type.googleapis.com/${ROUTES}`, bytes)).toBeUndefined();
  });
});

describe('the node of CSDS', () => {
  it('has no secrets in its metadata', () => {
    const { values } = {
      values: new Map([['password', { kind: { $case: 'stringValue', value: SECRET } } as const]]),
    };
    const node = { id: 'n', metadata: { fields: values } };
    const bytes = ClientConfig.encode(
      ClientConfig.create({ node, clientScope: 'xds:///a' }),
    ).finish();
    const shown = withoutSecrets('envoy.service.status.v3.ClientConfig', bytes);
    const text = Buffer.from(shown ?? []).toString('latin1');
    expect(text).not.toContain(SECRET);
    for (const part of ['password', '[redacted]', 'xds:///a']) expect(text).toContain(part);
  });
});

describe('a secret in a text', () => {
  it.each([
    ['https://user:pw@cp.example:443/x', 'https://[redacted]@cp.example:443/x'],
    ['cannot use https://token@cp.example', 'cannot use https://[redacted]@cp.example'],
    ['db?user=a&password=pw&x=1', 'db?user=a&password=[redacted]&x=1'],
    ['{"password":"pw","a":1}', '{"password":"[redacted]","a":1}'],
    ['api_key=abc; client-secret', 'api_key=[redacted]; client-secret'],
    ['https://user:pa/ss@host/x', 'https://[redacted]@host/x'],
    ['http://user:p@ss@host:80/x', 'http://[redacted]@host:80/x'],
    ['PGPASSWORD=pw db_password=pw', 'PGPASSWORD=[redacted] db_password=[redacted]'],
    ['Password="p w"; x', 'Password="[redacted]"; x'],
    ["{'passphrase': 'pw'}", "{'passphrase': '[redacted]'}"],
    [String.raw`{"secret":"p\"w","a":1}`, '{"secret":"[redacted]","a":1}'],
    ['refresh_token=abc&x=1', 'refresh_token=[redacted]&x=1'],
    ['-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY----- x', '[redacted] x'],
    ['Authorization: Bearer 0123456789abcdef0', 'Authorization: Bearer [redacted]'],
    ['Authorization: Bearer abc, x', 'Authorization: Bearer [redacted]'],
    ['got Bearer abc123', 'got Bearer [redacted]'],
    ['authorization: k3y; x', 'authorization: [redacted]'],
    ['cookie: a=1; sid=2, x', 'cookie: [redacted]'],
    ['authorization=k3y&x=1', 'authorization=[redacted]&x=1'],
    ['{"Set-Cookie":"sid=1; Path=/"}', '{"Set-Cookie":"[redacted]"}'],
    ["{ cookie: [ 'sid=1' ] }", "{ cookie: [ '[redacted]' ] }"],
    ["Map(1) { 'authorization' => [ 'k3y' ] }", "Map(1) { 'authorization' => [ '[redacted]' ] }"],
    ['https://h/p?a=1&token=1#x', 'https://h/p?a=1&token=[redacted]'],
    ['access_token=abc token=1', 'access_token=[redacted] token=[redacted]'],
    ['https://h/?sig=a%2Fb&se=1', 'https://h/?sig=[redacted]&se=1'],
    [
      '?X-Amz-Credential=AK/1&X-Amz-Signature=00',
      '?X-Amz-Credential=[redacted]&X-Amz-Signature=[redacted]',
    ],
    ['password: hunter-2', 'password: [redacted]'],
    [
      String.raw`a: "{\"token\":\"pw\",\"a\":1}"`,
      String.raw`a: "{\"token\":\"[redacted]\",\"a\":1}"`,
    ],
  ])('is redacted once: %s', (text, shown) => {
    expect(sanitizeText(text)).toBe(shown);
    expect(sanitizeText(shown)).toBe(shown);
    expect(redact({ a: [text] })).toEqual({ a: [shown] });
  });

  it.each([
    'xds:///shop@example',
    'http://host:443/a@b',
    'dns:///cp.example:443',
    'the password is wrong',
    'the token: not found',
    'route.cookie: field not present',
    'authorization: any is refused',
    'config.token: inline_string: must not be empty',
    'google_default: no token: 127.0.0.1:80 refused',
    'max_tokens=10 {"maxTokens":10}',
    'credentials=insecure',
  ])('is not seen in %s', (text) => expect(redactSecrets(text)).toBe(text));

  it('is not left as its beginning where a text is cut', () => {
    expect(sanitizeText(`https://user:${'p'.repeat(100)}@x`, 60)).not.toContain('ppp');
  });
});
