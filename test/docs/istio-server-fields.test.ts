// What docs/reference/istio.md says of servers: each field of PeerAuthentication and AuthorizationPolicy, as istiod translates it, is sent
// in a Listener, and decides about requests as the page says.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { FakeIo } from '../cli/fake-io';
import { anyone, anything, inNamespace, rbacJson, withIdentity } from '../support/rbac-json';
import { routerFilter, type Json } from '../support/xds-json';
import { inlineRoutes, serverChain, strictTls } from '../support/xds-server-world';

const root = join(__dirname, '..', '..');
const page = readFileSync(join(root, 'docs', 'reference', 'istio.md'), 'utf8');
const kinds: Readonly<Record<string, Readonly<Record<string, { readonly to?: unknown }>>>> = parse(
  readFileSync(join(root, 'scripts', 'fields', 'istio.yaml'), 'utf8'),
);
const sentFieldsOf = (kind: string) =>
  Object.entries(kinds[kind] ?? {}).flatMap(([field, { to }]) => (to === undefined ? [] : field));

/** The status of a field, with its remark. */
function statusOf(field: string): string {
  const row = page.split('\n').find((line) => line.startsWith(`| \`${field}\` |`)) ?? '';
  return row.split('|').at(-2)?.trim() ?? '';
}

/** A request to a server; see `REQUEST`. */
interface Request {
  readonly path?: string;
  /** The identity of the client; empty for none. */
  readonly from?: string;
  readonly address?: string;
  readonly remote?: string;
  readonly authority?: string;
  readonly header?: string;
}

const PORT = 50_051;
const REQUEST = {
  path: '/shop.Cart/Get',
  from: 'spiffe://cluster.local/ns/web/sa/cart',
  address: '10.244.0.2:50051',
  remote: '10.1.2.3:40000',
  authority: 'shop',
};

/** Sends Listeners to a server. @returns what it does with a request, and why. */
async function explain(chain: Json | readonly Json[], request: Request = {}) {
  const io = new FakeIo();
  // One for each port, or one for all.
  const listeners = [chain].flat().map((each, index) => ({
    name: `inbound-${index}`,
    address: {
      socket_address: { address: '0.0.0.0', port_value: Array.isArray(chain) ? PORT + index : 0 },
    },
    filter_chains: [each],
  }));
  io.input = JSON.stringify({ listeners });
  const given = Object.entries({ ...REQUEST, ...request }).filter(([, value]) => value !== '');
  const options = given.flatMap(([name, value]) => [`--${name}`, value]);
  await io.run('explain', '-', '--json', ...options);
  const { outcome, reason, filterChain } = JSON.parse(io.out.join('\n')) as {
    readonly outcome: string;
    readonly reason: string;
    readonly filterChain?: { readonly tls: string };
  };
  return { outcome, reason, tls: filterChain?.tls };
}

interface Rule {
  readonly permissions?: Json;
  readonly principals?: Json;
}

/** A filter chain of istiod with a policy of one rule. */
function chainOf({ permissions = anything, principals = anyone }: Rule, action?: 'DENY'): Json {
  const filter = rbacJson(
    {
      'default-policy-0': {
        permissions: [{ and_rules: { rules: [permissions] } }],
        principals: [{ and_ids: { ids: [principals] } }],
      },
    },
    action,
  );
  return serverChain({ ...inlineRoutes(), http_filters: [filter, routerFilter] }, strictTls());
}

const cidr = { address_prefix: '10.1.0.0', prefix_len: 16 };
const identity = { principals: withIdentity('cluster.local/ns/web/sa/cart') };
const namespace = { principals: inNamespace('web') };
const byIdentity = (regex: string) => ({
  principals: { authenticated: { principal_name: { safe_regex: { regex } } } },
});
const account = byIdentity('spiffe://.+/ns/web/(.+/|)sa/cart(/.+)?');
const domain = byIdentity('spiffe://cluster.local/.*');
const header = (name: string, exact: string) => ({ header: { name, string_match: { exact } } });
const claim = (key: string) => ({
  filter: 'envoy.filters.http.jwt_authn',
  path: [{ key: 'payload' }, { key }],
  value: { string_match: { exact: 'x' } },
});
const fromElsewhere = { remote: '10.2.2.3:40000' };
const asJob = { from: 'spiffe://td.test/ns/job/sa/run' };

/** By field: the rule that istiod sends, which `REQUEST` matches, and a request that does not. */
const RULES: Readonly<Record<string, readonly [sent: Rule, other: Request]>> = {
  rules: [{}, {}],
  'rules.from.source.principals': [identity, asJob],
  'rules.from.source.namespaces': [namespace, asJob],
  'rules.from.source.serviceAccounts': [account, asJob],
  'rules.from.source.trustDomains': [domain, asJob],
  'rules.from.source.ipBlocks': [{ principals: { direct_remote_ip: cidr } }, fromElsewhere],
  'rules.from.source.remoteIpBlocks': [
    { principals: { remote_ip: cidr } },
    { ...fromElsewhere, header: 'x-forwarded-for: 10.1.2.3' },
  ],
  'rules.to.operation.hosts': [
    { permissions: header(':authority', 'shop') },
    { authority: 'other' },
  ],
  'rules.to.operation.ports': [
    { permissions: { destination_port: 50_051 } },
    { address: '10.244.0.2:50052' },
  ],
  'rules.to.operation.methods': [{ permissions: header(':method', 'POST') }, {}],
  'rules.to.operation.paths': [
    { permissions: { url_path: { path: { prefix: '/shop.Cart/' } } } },
    { path: '/shop.Other/Get' },
  ],
  'rules.when.request.headers': [
    { principals: { not_id: header('tier', 'gold') } },
    { header: 'tier: gold' },
  ],
  'rules.when.source.ip': [{ principals: { direct_remote_ip: cidr } }, fromElsewhere],
  'rules.when.remote.ip': [{ principals: { remote_ip: cidr } }, fromElsewhere],
  'rules.when.source.namespace': [namespace, asJob],
  'rules.when.source.principal': [identity, asJob],
  'rules.when.source.serviceAccount': [account, asJob],
  'rules.when.source.trustDomain': [domain, asJob],
  'rules.when.destination.ip': [
    { permissions: { destination_ip: { address_prefix: '10.244.0.2', prefix_len: 32 } } },
    { address: '10.244.0.3:50051' },
  ],
  'rules.when.destination.port': [
    { permissions: { destination_port: 50_051 } },
    { address: '10.244.0.2:50052' },
  ],
};

/** Fields whose requests are all the same: they match every request, whatever it is. */
const MATCHES_ALL = new Set(['rules', 'rules.to.operation.methods']);

/** By field: the rule that istiod sends, which no request matches, and what the page says of it. */
const NEVER: Readonly<Record<string, readonly [sent: Rule, negated: Rule, remark: string]>> = {
  'rules.from.source.requestPrincipals': [
    { principals: { metadata: claim('sub') } },
    { principals: { not_id: { metadata: claim('sub') } } },
    'No JWT is verified: it matches no request, and negated every one.',
  ],
  'rules.when.request.auth': [
    { principals: { metadata: claim('iss') } },
    { principals: { not_id: { metadata: claim('iss') } } },
    'No JWT is verified.',
  ],
  'rules.when.connection.sni': [
    { permissions: { requested_server_name: { exact: 'shop' } } },
    { permissions: { requested_server_name: { exact: '' } } },
    'The name is always empty.',
  ],
  'rules.when.experimental.envoy.filters': [
    { permissions: { metadata: claim('a') } },
    { permissions: { not_rule: { metadata: claim('a') } } },
    'There is no such metadata.',
  ],
};

describe('docs/reference/istio.md about AuthorizationPolicy', () => {
  it('has a rule for each field that istiod translates', () => {
    const tried = ['action', ...Object.keys(RULES), ...Object.keys(NEVER)];
    expect(sentFieldsOf('AuthorizationPolicy').sort()).toEqual(tried.sort());
  });

  it.each(Object.entries(RULES))('is right about %s', async (field, [rule, other]) => {
    expect(statusOf(field)).toMatch(/^used/);
    const ends = MATCHES_ALL.has(field) ? ['allowed', 'denied'] : ['denied', 'allowed'];
    expect((await explain(chainOf(rule))).outcome).toBe('allowed');
    expect((await explain(chainOf(rule), other)).outcome).toBe(ends[0]);
    expect((await explain(chainOf(rule, 'DENY'))).outcome).toBe('denied');
    expect((await explain(chainOf(rule, 'DENY'), other)).outcome).toBe(ends[1]);
  });

  it.each(Object.entries(NEVER))('is right about %s, which nothing has', async (field, sent) => {
    const [rule, negated, remark] = sent;
    expect(statusOf(field)).toBe(`used. ${remark}`);
    expect((await explain(chainOf(rule))).outcome).toBe('denied');
    expect((await explain(chainOf(rule, 'DENY'))).outcome).toBe('allowed');
    expect((await explain(chainOf(negated))).outcome).toBe('allowed');
  });

  it('is right about action, and a spec for which istiod sends no filter', async () => {
    expect(statusOf('action')).toMatch(/^used\. `ALLOW` and `DENY`/);
    expect(statusOf('rules')).toMatch(/An empty `spec` sends no filter: the server serves every/);
    expect((await explain(serverChain(inlineRoutes(), strictTls()), asJob)).outcome).toBe(
      'allowed',
    );
  });

  it('is right about a template of paths', async () => {
    expect(statusOf('rules.to.operation.paths')).toMatch(/A template, .*, is refused\.$/);
    const uri_template = {
      name: 'envoy.path.match.uri_template.uri_template_matcher',
      typed_config: {
        '@type':
          'type.googleapis.com/envoy.extensions.path.match.uri_template.v3.UriTemplateMatchConfig',
        path_template: '/{*}/Echo',
      },
    };
    const refused = await explain(chainOf({ permissions: { uri_template } })).catch(String);
    expect(JSON.stringify(refused)).toMatch(/uri_template/);
  });
});

describe('docs/reference/istio.md about PeerAuthentication', () => {
  it('has what is tried here', () => {
    expect(sentFieldsOf('PeerAuthentication')).toEqual(['mtls.mode', 'portLevelMtls']);
    for (const field of ['mtls.mode', 'portLevelMtls']) expect(statusOf(field)).toMatch(/^used/);
  });

  it('is right about STRICT: a client without a certificate is refused', async () => {
    const strict = serverChain(inlineRoutes(), strictTls());
    const tls = 'TLS, client certificate required';
    expect(await explain(strict)).toMatchObject({ outcome: 'allowed', tls });
    expect(await explain(strict, { from: '' })).toMatchObject({ outcome: 'closed', tls });
  });

  it('is right about DISABLE and PERMISSIVE: connections are plain text', async () => {
    expect(statusOf('mtls.mode')).toMatch(/`PERMISSIVE` is plain text/);
    const plain = await explain(serverChain(), { from: '' });
    expect(plain).toMatchObject({ outcome: 'allowed', tls: 'plain text' });
  });

  it('is right about portLevelMtls: each port is a Listener of its own', async () => {
    const ports = [serverChain(inlineRoutes(), strictTls()), serverChain()];
    expect(await explain(ports, { from: '' })).toMatchObject({ outcome: 'closed' });
    const other = { from: '', address: `10.244.0.2:${PORT + 1}` };
    expect(await explain(ports, other)).toMatchObject({ outcome: 'allowed', tls: 'plain text' });
  });
});
