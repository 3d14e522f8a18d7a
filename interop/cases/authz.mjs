// Authorization by a server that takes part in xDS (gRFC A41), with the rules of psm-interop. Each rule is for calls with a
// value of the header `test`.
import { status } from '@grpc/grpc-js';
import { rbac, SERVICE } from '../harness/resources.mjs';
import { OFFERING, REQUIRING, SecureService } from '../harness/secure-service.mjs';
import { allOf, describeCodes, verdict } from '../harness/verdict.mjs';
import { pollUntil } from '../harness/waiting.mjs';
import { identity, mutual } from '../tls/contexts.mjs';

const COUNT = 10;
const { OK, PERMISSION_DENIED: DENIED } = status;
const CLIENT = 'spiffe://td.test/ns/a/sa/client';
const OTHER = 'spiffe://td.test/not/the/client';
const ANY_HOST = { suffix: `:${SERVICE.split(':')[1]}` };

const any = (rules) => ({ or_rules: { rules } });

/** Calls to one of the hosts and ports, whose header matches. */
const permission = (hosts, ports, regex) => ({
  and_rules: {
    rules: [
      any(hosts.map((match) => ({ header: { name: ':authority', string_match: match } }))),
      any(ports.map((destination_port) => ({ destination_port }))),
      { header: { name: 'test', string_match: { safe_regex: { regex } } } },
    ],
  },
});

const ANYBODY = { any: true };
const principal = (match) => ({ authenticated: { principal_name: match } });

const policy = (permissions, principals = [ANYBODY]) => ({ permissions, principals });

/** The policies of a server, by their names. */
const policiesOf = ({ port }) => ({
  'host-wildcard': policy([permission([ANY_HOST], [port], 'host-wildcard')]),
  'header-regex': policy([permission([ANY_HOST], [port], 'header-regex-a+')]),
  'host-match': policy([
    permission([{ exact: SERVICE }], [port], 'host-match1'),
    permission(
      [{ exact: 'a-not-it.com:8000' }, { exact: SERVICE }, { exact: 'z-not-it.com:1' }],
      [1, port, 65_535],
      'host-match2',
    ),
  ]),
  'never-match-host': policy([
    permission(
      [{ exact: 'not-the-host:8000' }, { exact: 'not-the-host' }],
      [port],
      'never-match-host',
    ),
  ]),
  'never-match-port': policy([permission([ANY_HOST], [1], 'never-match-port')]),
  'principal-present': policy(
    [permission([ANY_HOST], [port], 'principal-present')],
    [principal({ safe_regex: { regex: '.+' } })],
  ),
  'match-principal': policy(
    [permission([ANY_HOST], [port], 'match-principal')],
    [principal({ exact: OTHER }), principal({ exact: CLIENT })],
  ),
  'never-match-principal': policy(
    [permission([ANY_HOST], [port], 'never-match-principal')],
    [principal({ exact: OTHER })],
  ),
});

const METHODS = ['EmptyCall', 'UnaryCall'];

/** How calls with a value of the header end; without the header if there is no value. */
const checkCalls = async (client, method, [value, expected]) => {
  const headers = value === undefined ? [] : [{ key: 'test', value }];
  await client.configure({ methods: [method], headers });
  const isExpected = (codes) => codes.size === 1 && codes.has(expected);
  const codes = await pollUntil(() => client.codesOfNext(COUNT, method), isExpected);
  return verdict(isExpected(codes), `${value ?? 'no header'}: ${describeCodes(codes)}`);
};

const authzCase = (name, { action, steps, ...tls }) => ({
  name: `authz_test: ${name}`,
  expect: steps.map(([value, code]) => `${value ?? 'no header'}: ${status[code]}`).join(', '),
  async run(mesh) {
    const filters = (server) => [rbac(action, policiesOf(server))];
    const { client } = await SecureService.start(mesh, { ...tls, filters });
    const verdicts = [];
    // Methods take turns, so that no call of the step before is counted.
    for (const [i, step] of steps.entries()) {
      verdicts.push(await checkCalls(client, METHODS[i % METHODS.length], step));
    }
    return allOf(...verdicts);
  },
});

const PLAIN = { server: undefined, cluster: undefined };
const TLS = { server: OFFERING, cluster: identity(undefined) };
const MUTUAL_TLS = { server: REQUIRING, cluster: mutual() };

export const cases = [
  authzCase('test_plaintext_allow', {
    ...PLAIN,
    action: 'ALLOW',
    steps: [
      ['host-wildcard', OK],
      ['no-such-rule', DENIED],
      [undefined, DENIED],
      ['header-regex-a', OK],
      ['header-regex-aa', OK],
      ['header-regex-', DENIED],
      ['header-regex-ab', DENIED],
      ['aheader-regex-a', DENIED],
      ['host-match1', OK],
      ['host-match2', OK],
      ['never-match-host', DENIED],
      ['never-match-port', DENIED],
      ['principal-present', DENIED],
    ],
  }),
  authzCase('test_tls_allow', {
    ...TLS,
    action: 'ALLOW',
    steps: [
      ['host-wildcard', OK],
      [undefined, DENIED],
      ['principal-present', DENIED],
    ],
  }),
  authzCase('test_mtls_allow', {
    ...MUTUAL_TLS,
    action: 'ALLOW',
    steps: [
      ['host-wildcard', OK],
      [undefined, DENIED],
      ['principal-present', OK],
      ['match-principal', OK],
      ['never-match-principal', DENIED],
    ],
  }),
  authzCase('test_plaintext_deny', {
    ...PLAIN,
    action: 'DENY',
    steps: [
      ['host-wildcard', DENIED],
      [undefined, OK],
    ],
  }),
];
