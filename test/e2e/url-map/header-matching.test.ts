import { ALTERNATIVE, DEFAULT, routeRule, UrlMap } from '../../support/url-map';
import type { Rpc } from '../../support/url-map-backend';
import type { Json } from '../../support/xds-json';

// The cases of gRPC's url-map interop suite `header_matching`, under their names there (gRFC A28).

jest.setTimeout(30_000);

const COUNT = 150;
const TEXT = 'xds_md';
const NUMBER = 'xds_md_numeric';
const metadata = {
  UnaryCall: { [TEXT]: 'unary_yranu', [NUMBER]: '159' },
  EmptyCall: { [TEXT]: 'empty_ytpme' },
};

interface Case {
  readonly name: string;
  readonly header: Json;
  /** The calls that go by the header. The others go by the default route. */
  readonly matching: Rpc;
}

const cases: readonly Case[] = [
  {
    name: 'TestExactMatch',
    header: { name: TEXT, exact_match: 'empty_ytpme' },
    matching: 'EmptyCall',
  },
  { name: 'TestPrefixMatch', header: { name: TEXT, prefix_match: 'un' }, matching: 'UnaryCall' },
  { name: 'TestSuffixMatch', header: { name: TEXT, suffix_match: 'me' }, matching: 'EmptyCall' },
  {
    name: 'TestPresentMatch',
    header: { name: NUMBER, present_match: true },
    matching: 'UnaryCall',
  },
  {
    name: 'TestInvertMatch',
    header: { name: TEXT, exact_match: 'unary_yranu', invert_match: true },
    matching: 'EmptyCall',
  },
  {
    name: 'TestRangeMatch',
    header: { name: NUMBER, range_match: { start: 100, end: 200 } },
    matching: 'UnaryCall',
  },
  {
    name: 'TestRegexMatch',
    header: { name: TEXT, safe_regex_match: { regex: '^em.*me$' } },
    matching: 'EmptyCall',
  },
];

describe('header_matching', () => {
  let urlMap: UrlMap;

  beforeEach(async () => {
    urlMap = await UrlMap.start();
  });
  afterEach(() => urlMap.stop());

  it.each(cases)('$name', async ({ header, matching }) => {
    urlMap.serve([routeRule({ prefix: '/', headers: [header] }, ALTERNATIVE)]);
    const other = matching === 'UnaryCall' ? 'EmptyCall' : 'UnaryCall';
    const [matched, unmatched] = await Promise.all([
      urlMap.send({ rpc: matching, count: COUNT, metadata: metadata[matching] }),
      urlMap.send({ rpc: other, count: COUNT, metadata: metadata[other] }),
    ]);
    expect([...matched.answered]).toEqual([[ALTERNATIVE, COUNT]]);
    expect([...unmatched.answered]).toEqual([[DEFAULT, COUNT]]);
    expect(urlMap.endpointsInUse()).toEqual([ALTERNATIVE, DEFAULT]);
  });
});
