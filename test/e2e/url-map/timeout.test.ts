import { status } from '@grpc/grpc-js';
import { DEFAULT, routeRule, UrlMap } from '../../support/url-map';
import { pathOf } from '../../support/url-map-backend';

// The cases of gRPC's url-map interop suite `timeout`, under their names there (gRFC A31).

jest.setTimeout(30_000);

const COUNT = 25;
const LIMIT_MS = 1000;

describe('timeout', () => {
  let urlMap: UrlMap;

  beforeEach(async () => {
    urlMap = await UrlMap.start();
    const limit = `${LIMIT_MS / 1000}s`;
    const duration = { max_stream_duration: limit, grpc_timeout_header_max: limit };
    const action = { max_stream_duration: duration };
    urlMap.serve([routeRule({ path: pathOf('UnaryCall') }, DEFAULT, { action })]);
  });
  afterEach(() => urlMap.stop());

  it('TestTimeoutInRouteRule', async () => {
    const metadata = { 'rpc-behavior': 'sleep-2' };
    const [unary, empty] = await Promise.all([
      urlMap.send({ rpc: 'UnaryCall', count: COUNT, metadata }),
      urlMap.send({ rpc: 'EmptyCall', count: COUNT, metadata }),
    ]);
    expect(unary.codes).toEqual(new Map([[status.DEADLINE_EXCEEDED, COUNT]]));
    expect(empty.codes).toEqual(new Map([[status.OK, COUNT]]));
    // The server was told of the limit where there is one, and of the application's 20 s elsewhere.
    for (const { rpc, timeLeftMs } of urlMap.backend(DEFAULT).seen) {
      if (rpc === 'UnaryCall') expect(timeLeftMs).toBeLessThanOrEqual(LIMIT_MS);
      else expect(timeLeftMs).toBeGreaterThan(LIMIT_MS);
    }
  });

  it('TestTimeoutInApplication', async () => {
    const metadata = { 'rpc-behavior': 'sleep-2' };
    const sending = { rpc: 'UnaryCall', count: COUNT, metadata, deadlineMs: 500 } as const;
    const { codes } = await urlMap.send(sending);
    expect(codes).toEqual(new Map([[status.DEADLINE_EXCEEDED, COUNT]]));
    for (const { timeLeftMs } of urlMap.backend(DEFAULT).seen) {
      expect(timeLeftMs).toBeLessThanOrEqual(500);
    }
  });

  it('TestTimeoutNotExceeded', async () => {
    const { codes } = await urlMap.send({ rpc: 'UnaryCall', count: COUNT });
    expect(codes).toEqual(new Map([[status.OK, COUNT]]));
    expect(urlMap.endpointsInUse()).toEqual([DEFAULT]);
  });
});
