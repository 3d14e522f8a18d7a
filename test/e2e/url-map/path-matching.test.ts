import { ALTERNATIVE, DEFAULT, routeRule, UrlMap, type Tally } from '../../support/url-map';
import { pathOf, type Rpc } from '../../support/url-map-backend';

// The cases of gRPC's url-map interop suite `path_matching`, under their names there (gRFC A28).

jest.setTimeout(30_000);

const COUNT = 150;

describe('path_matching', () => {
  let urlMap: UrlMap;
  const send = (rpc: Rpc): Promise<Tally> => urlMap.send({ rpc, count: COUNT });
  const goTo = async (rpc: Rpc, cluster: string): Promise<void> => {
    expect([...(await send(rpc)).answered]).toEqual([[cluster, COUNT]]);
  };

  beforeEach(async () => {
    urlMap = await UrlMap.start();
  });
  afterEach(() => {
    const endpoints = urlMap.endpointsInUse();
    urlMap.stop();
    expect(endpoints).toEqual([ALTERNATIVE, DEFAULT]);
  });

  it('TestFullPathMatchEmptyCall', async () => {
    urlMap.serve([routeRule({ path: pathOf('EmptyCall') }, ALTERNATIVE)]);
    await goTo('EmptyCall', ALTERNATIVE);
    await goTo('UnaryCall', DEFAULT);
  });

  it('TestFullPathMatchUnaryCall', async () => {
    urlMap.serve([routeRule({ path: pathOf('UnaryCall') }, ALTERNATIVE)]);
    await goTo('UnaryCall', ALTERNATIVE);
    await goTo('EmptyCall', DEFAULT);
  });

  // Three routes, of which two name the same cluster.
  it('TestTwoRoutesAndPrefixMatch', async () => {
    urlMap.serve(
      [
        routeRule({ prefix: '/grpc.testing.TestService/Unary' }, DEFAULT),
        routeRule({ path: pathOf('EmptyCall') }, ALTERNATIVE),
      ],
      { others: ALTERNATIVE },
    );
    await Promise.all([goTo('UnaryCall', DEFAULT), goTo('EmptyCall', ALTERNATIVE)]);
  });

  it('TestRegexMatch', async () => {
    const regex = String.raw`^\/.*\/UnaryCall$`;
    urlMap.serve([routeRule({ safe_regex: { regex } }, ALTERNATIVE)]);
    await goTo('UnaryCall', ALTERNATIVE);
    await goTo('EmptyCall', DEFAULT);
  });

  it('TestCaseInsensitiveMatch', async () => {
    const match = { path: '/gRpC.tEsTinG.tEstseRvice/empTycaLl', case_sensitive: false };
    urlMap.serve([routeRule(match, ALTERNATIVE)]);
    await goTo('EmptyCall', ALTERNATIVE);
    await goTo('UnaryCall', DEFAULT);
  });
});
