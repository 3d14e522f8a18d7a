import { parseBootstrap } from '../../src/bootstrap/bootstrap-parser';
import { listenerResourceName } from '../../src/bootstrap/resource-template';

function nameOf(target: { authority: string; path: string }, bootstrap: object = {}) {
  const parsed = parseBootstrap(
    { xds_servers: [{ server_uri: 'x', channel_creds: [{ type: 'insecure' }] }], ...bootstrap },
    '/etc/x.json',
    {
      channelCreds: new Set(['insecure']),
      callCreds: new Set<string>(),
      certificateProviders: new Set<string>(),
    },
  );
  if (!parsed.ok) throw new Error(parsed.error.join('; '));
  const name = listenerResourceName(parsed.value, target);
  return name.ok ? name.value : `error: ${name.error}`;
}

const defaultTemplate = (template: string) => ({
  client_default_listener_resource_name_template: template,
});
const authorities = {
  authorities: {
    'a.test': {},
    'b.test': { client_listener_resource_name_template: 'xdstp://b.test/L/%s?region=eu' },
  },
};

describe('listenerResourceName', () => {
  it.each([
    ['the path itself by default', 'shop:80', {}, 'shop:80'],
    ['the path unchanged by default', 'a b/ü%', {}, 'a b/ü%'],
    [
      'the path in the default template',
      'shop',
      defaultTemplate('mesh/%s/listener'),
      'mesh/shop/listener',
    ],
    ['the path in every place', 'shop', defaultTemplate('%s/%s'), 'shop/shop'],
    ['a template without a place as it is', 'shop', defaultTemplate('one'), 'one'],
    ['patterns of replacement as text', "$&$'$1", defaultTemplate('<%s>'), "<$&$'$1>"],
    ['placeholders in the path as text', '%s', defaultTemplate('<%s>'), '<%s>'],
    [
      'the path encoded in an xdstp template',
      'a b?c#d%/ü',
      defaultTemplate('xdstp://x/L/%s'),
      'xdstp://x/L/a%20b%3Fc%23d%25/%C3%BC',
    ],
    [
      'path characters unencoded in an xdstp template',
      "aZ0-._~!$&'()*+,;=:@/",
      defaultTemplate('xdstp://x/L/%s'),
      "xdstp://x/L/aZ0-._~!$&'()*+,;=:@/",
    ],
    [
      'half a surrogate pair encoded as a replacement character',
      '\ud800',
      defaultTemplate('xdstp://x/L/%s'),
      'xdstp://x/L/%EF%BF%BD',
    ],
    [
      'a whole surrogate pair encoded',
      '😀',
      defaultTemplate('xdstp://x/L/%s'),
      'xdstp://x/L/%F0%9F%98%80',
    ],
  ])('gives %s', (_what, path, bootstrap, expected) => {
    expect(nameOf({ authority: '', path }, bootstrap)).toBe(expected);
  });

  it.each([
    ['a.test', 'shop 1', 'xdstp://a.test/envoy.config.listener.v3.Listener/shop%201'],
    ['b.test', 'shop:80', 'xdstp://b.test/L/shop:80?region=eu'],
  ])('uses the template of the authority %s', (authority, path, expected) => {
    expect(nameOf({ authority, path }, authorities)).toBe(expected);
  });

  it('lists the authorities when one is unknown', () => {
    expect(nameOf({ authority: 'c.test', path: 'shop' }, authorities)).toBe(
      'error: authority "c.test" is not among the authorities of the bootstrap /etc/x.json ' +
        '(it has "a.test", "b.test"): add it there, or use xds:///shop',
    );
    expect(nameOf({ authority: 'constructor', path: 'shop' })).toBe(
      'error: authority "constructor" is not among the authorities of the bootstrap /etc/x.json ' +
        '(it has none): add it there, or use xds:///shop',
    );
  });

  it('suggests three slashes for a target with an authority and no name', () => {
    expect(nameOf({ authority: 'shop:50051', path: '' })).toBe(
      'error: the xds: target has the authority "shop:50051" and no name: ' +
        'did you mean xds:///shop:50051?',
    );
  });

  it('rejects a target without a name', () => {
    expect(nameOf({ authority: '', path: '' })).toBe(
      'error: the xds: target has no name: use xds:///<name>',
    );
  });
});
