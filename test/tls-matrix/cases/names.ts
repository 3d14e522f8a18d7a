// Subject alternative names: types, kinds of matchers, wildcards, texts that are hard to read.

import { SERVER_ID } from '../certificate-table';
import { fails, matching, matchingTyped, overTls, regex, tls, WRONG_NAME } from '../contexts';
import type { TlsCase } from '../tls-case';
import type { Json } from '../../support/xds-json';

type Verdict = 'accepts' | 'refuses';

const expectationOf = (verdict: Verdict) =>
  verdict === 'accepts' ? overTls() : fails(`certificate check failure`);

/** A name of each type, with parts of it and its pattern. */
const TYPES = {
  DNS: {
    name: 'a.server.test',
    start: 'a.serv',
    end: 'er.test',
    middle: 'server',
    pattern: 'a\\.[a-z]+\\.test',
    other: 'b.server.test',
  },
  URI: {
    name: 'spiffe://td.test/ns/a/sa/b',
    start: 'spiffe://td.test/ns/a/',
    end: '/sa/b',
    middle: '/ns/a/',
    pattern: 'spiffe://td\\.test/ns/[a-z]+/sa/b',
    other: 'spiffe://td.test/x',
  },
  EMAIL: {
    name: 'ops@server.test',
    start: 'ops@',
    end: '@server.test',
    middle: 's@serv',
    pattern: '[a-z]+@server\\.test',
    other: 'dev@server.test',
  },
  IP_ADDRESS: {
    name: '2001:db8::a',
    start: '2001:db8:',
    end: '::a',
    middle: 'db8',
    pattern: '2001:db8::[a-f]',
    other: '2001:db8::b',
  },
} as const;

type SanType = keyof typeof TYPES;
const LABELS: Readonly<Record<SanType, string>> = {
  DNS: 'DNS',
  URI: 'URI',
  EMAIL: 'email',
  IP_ADDRESS: 'IP',
};
const types: readonly SanType[] = ['DNS', 'URI', 'EMAIL', 'IP_ADDRESS'];

/** Every kind of matcher for a type: satisfied, not satisfied, and in another case. */
function matchersOf(type: SanType): readonly (readonly [string, Json, Verdict])[] {
  const { name, start, end, middle, pattern, other } = TYPES[type];
  const upper = (text: string) => text.toUpperCase();
  const texts = [
    ['exact', name, other],
    ['prefix', start, `x${start}`],
    ['suffix', end, `${end}x`],
    ['contains', middle, `${middle}${middle}`],
  ] as const;
  return [
    ...texts.flatMap(([kind, text, wrong]) => {
      // A29: exact matchers of DNS names are compared as DNS names are.
      const inOtherCase: Verdict = type === 'DNS' && kind === 'exact' ? 'accepts' : 'refuses';
      return [
        [kind, { [kind]: text }, 'accepts'],
        [`another ${kind}`, { [kind]: wrong }, 'refuses'],
        [`${kind} in capitals`, { [kind]: upper(text) }, inOtherCase],
        [`${kind} in capitals, ignore_case`, { [kind]: upper(text), ignore_case: true }, 'accepts'],
        [`another ${kind}, ignore_case`, { [kind]: wrong, ignore_case: true }, 'refuses'],
      ] as const;
    }),
    ['regex', regex(pattern), 'accepts'],
    ['another regex', regex(`x${pattern}`), 'refuses'],
    ['regex of a part', regex(middle), 'refuses'],
    ['regex in capitals', regex(upper(name)), 'refuses'],
    ['regex in capitals, ignore_case', { ...regex(upper(name)), ignore_case: true }, 'refuses'],
  ];
}

const product = types.flatMap((type) =>
  matchersOf(type).map(([name, matcher, verdict]) => ({
    group: `names: ${LABELS[type]}`,
    name,
    tls: matching(matcher),
    server: { names: [`${LABELS[type]}:${TYPES[type].name}`] },
    expected: expectationOf(verdict),
  })),
);

const all = types.map((type) => `${LABELS[type]}:${TYPES[type].name}`);

/** Typed matchers against a certificate with a name of each type. */
const typed = types.flatMap((type) =>
  types.map((of) => ({
    group: 'names: typed matchers',
    name: `${LABELS[type]}, with the text of ${LABELS[of]}`,
    tls: matchingTyped([type, { exact: TYPES[of].name }]),
    server: { names: all },
    expected: expectationOf(type === of ? 'accepts' : 'refuses'),
  })),
);

type Row = readonly [name: string, names: readonly string[], matcher: Json, verdict: Verdict];

const wildcards: readonly Row[] = [
  ['one label', ['DNS:*.wild.test'], { exact: 'a.wild.test' }, 'accepts'],
  ['one label in capitals', ['DNS:*.wild.test'], { exact: 'A.WILD.TEST' }, 'accepts'],
  ['a wildcard in capitals', ['DNS:*.WILD.TEST'], { exact: 'a.wild.test' }, 'accepts'],
  ['a final dot in the matcher', ['DNS:*.wild.test'], { exact: 'a.wild.test.' }, 'accepts'],
  ['a final dot in the certificate', ['DNS:*.wild.test.'], { exact: 'a.wild.test' }, 'accepts'],
  ['two labels', ['DNS:*.wild.test'], { exact: 'a.b.wild.test' }, 'refuses'],
  ['no label', ['DNS:*.wild.test'], { exact: 'wild.test' }, 'refuses'],
  ['an empty label', ['DNS:*.wild.test'], { exact: '.wild.test' }, 'refuses'],
  ['a part of a label', ['DNS:a*.wild.test'], { exact: 'ab.wild.test' }, 'refuses'],
  ['the end of a label', ['DNS:*b.wild.test'], { exact: 'ab.wild.test' }, 'refuses'],
  ['not the first label', ['DNS:a.*.test'], { exact: 'a.b.test' }, 'refuses'],
  ['two of them', ['DNS:*.*.test'], { exact: 'a.b.test' }, 'refuses'],
  ['alone', ['DNS:*'], { exact: 'test' }, 'refuses'],
  ['alone, with a dot', ['DNS:*.'], { exact: 'test' }, 'refuses'],
  ['alone, against itself', ['DNS:*'], { exact: '*' }, 'refuses'],
  ['of a top-level domain', ['DNS:*.test'], { exact: 'wild.test' }, 'accepts'],
  ['in the matcher', ['DNS:a.wild.test'], { exact: '*.wild.test' }, 'refuses'],
  ['by prefix', ['DNS:*.wild.test'], { prefix: 'a.' }, 'refuses'],
  ['its suffix', ['DNS:*.wild.test'], { suffix: '.wild.test' }, 'accepts'],
  ['by regex', ['DNS:*.wild.test'], regex('a\\.wild\\.test'), 'refuses'],
  ['in a URI', ['URI:spiffe://*.test/a'], { exact: 'spiffe://td.test/a' }, 'refuses'],
  ['in a mail address', ['email:*@server.test'], { exact: 'a@server.test' }, 'refuses'],
];

const dns: readonly Row[] = [
  ['a final dot in the matcher', ['DNS:server.test'], { exact: 'server.test.' }, 'accepts'],
  ['a final dot in the certificate', ['DNS:server.test.'], { exact: 'server.test' }, 'accepts'],
  ['two final dots', ['DNS:server.test..'], { exact: 'server.test' }, 'refuses'],
  ['an empty label', ['DNS:a..server.test'], { exact: 'a..server.test' }, 'refuses'],
  ['a domain above', ['DNS:a.server.test'], { exact: 'server.test' }, 'refuses'],
  ['a domain below', ['DNS:server.test'], { exact: 'a.server.test' }, 'refuses'],
  ['an underscore', ['DNS:a_b.server.test'], { exact: 'a_b.server.test' }, 'accepts'],
  ['an IDN as A-label', ['DNS:xn--bcher-kva.test'], { exact: 'xn--bcher-kva.test' }, 'accepts'],
  ['an IDN as U-label', ['DNS:xn--bcher-kva.test'], { exact: 'bücher.test' }, 'refuses'],
  ['A-label in capitals', ['DNS:XN--BCHER-KVA.test'], { exact: 'xn--bcher-kva.test' }, 'accepts'],
  ['an address as DNS name', ['DNS:10.0.0.1'], { exact: '10.0.0.1' }, 'accepts'],
  [
    'the last of three names',
    ['DNS:a.test', 'DNS:b.test', 'DNS:c.test'],
    { exact: 'c.test' },
    'accepts',
  ],
  [
    'none of three names',
    ['DNS:a.test', 'DNS:b.test', 'DNS:c.test'],
    { exact: 'd.test' },
    'refuses',
  ],
  [
    'the last of 300 names',
    Array.from({ length: 300 }, (_, index) => `DNS:n${index}.test`),
    { exact: 'n299.test' },
    'accepts',
  ],
];

const addresses: readonly Row[] = [
  ['IPv4', ['IP:10.1.2.3'], { exact: '10.1.2.3' }, 'accepts'],
  ['another IPv4', ['IP:10.1.2.3'], { exact: '10.1.2.4' }, 'refuses'],
  ['the start of IPv4, exact', ['IP:10.1.2.3'], { exact: '10.1.2' }, 'refuses'],
  ['IPv4 with leading zeros', ['IP:10.1.2.3'], { exact: '10.1.2.03' }, 'refuses'],
  ['IPv6 in all groups', ['IP:2001:db8::a'], { exact: '2001:db8:0:0:0:0:0:a' }, 'refuses'],
  ['IPv6 as openssl writes it', ['IP:2001:db8::a'], { exact: '2001:DB8:0:0:0:0:0:A' }, 'refuses'],
  [
    'IPv6 in capitals, ignore_case',
    ['IP:2001:db8::a'],
    { exact: '2001:DB8::A', ignore_case: true },
    'accepts',
  ],
  ['the loopback of IPv6', ['IP:::1'], { exact: '::1' }, 'accepts'],
  ['no address of IPv6', ['IP:::'], { exact: '::' }, 'accepts'],
  ['IPv4 in IPv6', ['IP:::ffff:10.0.0.1'], { exact: '::ffff:10.0.0.1' }, 'accepts'],
  ['IPv4 in IPv6, as IPv4', ['IP:::ffff:10.0.0.1'], { exact: '10.0.0.1' }, 'refuses'],
  ['IPv6 in brackets', ['IP:2001:db8::a'], { exact: '[2001:db8::a]' }, 'refuses'],
  [
    'IPv6 with zeros in the middle',
    ['IP:2001:0:0:1:0:0:0:1'],
    { exact: '2001:0:0:1::1' },
    'accepts',
  ],
];

const FORGED = 'URI:https://a.test/x, URI:spiffe://td.test/forged';
const special: readonly Row[] = [
  ['a URI that looks like two: the first', [FORGED], { exact: 'https://a.test/x' }, 'refuses'],
  [
    'a URI that looks like two: the second',
    [FORGED],
    { exact: 'spiffe://td.test/forged' },
    'refuses',
  ],
  ['a URI that looks like two: its start', [FORGED], { prefix: 'https://a.test/x, ' }, 'accepts'],
  [
    'a DNS name that looks like two',
    ['DNS:a.test, DNS:forged.test'],
    { exact: 'forged.test' },
    'refuses',
  ],
  [
    'a DNS name with a URI in it',
    ['DNS:a.test, URI:spiffe://td.test/forged'],
    { exact: 'spiffe://td.test/forged' },
    'refuses',
  ],
  [
    'a mail address that looks like two',
    ['email:a@b.test, email:forged@b.test'],
    { exact: 'forged@b.test' },
    'refuses',
  ],
  ['a quotation mark', ['URI:https://a.test/"x"'], { exact: 'https://a.test/"x"' }, 'accepts'],
  ['a backslash', ['URI:https://a.test/\\x'], { exact: 'https://a.test/\\x' }, 'accepts'],
  ['a number sign', ['URI:https://a.test/#x'], { exact: 'https://a.test/#x' }, 'accepts'],
  ['a dollar sign', ['URI:https://a.test/$x'], { exact: 'https://a.test/$x' }, 'accepts'],
  ['a comma at the end', ['URI:https://a.test/x,'], { exact: 'https://a.test/x,' }, 'accepts'],
  [
    'the first of two URIs',
    ['URI:spiffe://td.test/a', 'URI:spiffe://td.test/b'],
    { exact: 'spiffe://td.test/a' },
    'accepts',
  ],
  [
    'the second of two URIs',
    ['URI:spiffe://td.test/a', 'URI:spiffe://td.test/b'],
    { exact: 'spiffe://td.test/b' },
    'accepts',
  ],
  ['a URI in another case', ['URI:spiffe://td.test/A'], { exact: 'spiffe://td.test/a' }, 'refuses'],
  ['a registered ID', ['RID:1.2.3.4', 'DNS:server.test'], { exact: '1.2.3.4' }, 'refuses'],
  [
    'another kind of name',
    ['otherName:1.2.3.4;UTF8:server.test'],
    { exact: 'server.test' },
    'refuses',
  ],
  [
    'beside another kind of name',
    ['otherName:1.2.3.4;UTF8:x', 'DNS:server.test'],
    { exact: 'server.test' },
    'accepts',
  ],
  ['the common name', ['DNS:a.test'], { exact: 'server.test' }, 'refuses'],
  ['no names', [], { exact: 'server.test' }, 'refuses'],
  ['no names, any text', [], { contains: 'e' }, 'refuses'],
  ['no names, a regex for empty text', [], regex('.*'), 'refuses'],
  ['the last of two matchers', ['DNS:a.test'], { exact: 'a.test' }, 'accepts'],
];

const rowsOf = (group: string, rows: readonly Row[]): readonly TlsCase[] =>
  rows.map(([name, names, matcher, verdict]) => ({
    group,
    name,
    tls: matching(matcher),
    server: { names },
    expected: expectationOf(verdict),
  }));

const several: readonly TlsCase[] = [
  {
    name: 'none of them, with names',
    tls: tls(),
    server: { names: ['DNS:anything.test'] },
    expected: overTls(),
  },
  { name: 'none of them, without names', tls: tls(), server: { names: [] }, expected: overTls() },
  {
    name: 'the last of three is satisfied',
    tls: matching({ exact: 'x' }, { prefix: 'y' }, { exact: SERVER_ID }),
    expected: overTls(),
  },
  {
    name: 'none of three is satisfied',
    tls: matching({ exact: 'x' }, { prefix: 'y' }, { suffix: 'z' }),
    expected: fails('do not satisfy any of the 3 matchers'),
  },
  {
    name: 'typed ones take the place of others',
    tls: tls({
      validation: {
        match_subject_alt_names: [{ exact: SERVER_ID }],
        match_typed_subject_alt_names: [{ san_type: 'URI', matcher: { exact: 'x' } }],
      },
    }),
    expected: fails(WRONG_NAME),
  },
  {
    name: 'the last of two typed ones is satisfied',
    tls: matchingTyped(['DNS', { exact: 'x' }], ['URI', { exact: SERVER_ID }]),
    expected: overTls(),
  },
  {
    name: 'in default_validation_context',
    tls: {
      common_tls_context: {
        combined_validation_context: {
          default_validation_context: {
            ca_certificate_provider_instance: { instance_name: 'root' },
            match_subject_alt_names: [{ exact: 'x' }],
          },
        },
      },
    },
    expected: fails(WRONG_NAME),
  },
].map((row) => ({ group: 'names: several matchers', ...row }));

export const nameCases: readonly TlsCase[] = [
  ...product,
  ...typed,
  ...rowsOf('names: wildcards', wildcards),
  ...rowsOf('names: DNS', dns),
  ...rowsOf('names: IP', addresses),
  ...rowsOf('names: hard to read', special),
  ...several,
];
