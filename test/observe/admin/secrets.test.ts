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
    ['Authorization: Bearer 0123456789abcdef0', 'Authorization: Bearer [redacted]'],
  ])('is redacted once: %s', (text, shown) => {
    expect(sanitizeText(text)).toBe(shown);
    expect(sanitizeText(shown)).toBe(shown);
    expect(redact({ a: [text] })).toEqual({ a: [shown] });
  });

  it.each(['xds:///shop@example', 'dns:///cp.example:443', 'the password is wrong', 'token=1'])(
    'is not seen in %s',
    (text) => expect(redactSecrets(text)).toBe(text),
  );

  it('is not left as its beginning where a text is cut', () => {
    expect(sanitizeText(`https://user:${'p'.repeat(100)}@x`, 60)).not.toContain('ppp');
  });
});
