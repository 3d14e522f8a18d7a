import { status } from '@grpc/grpc-js';
import { DEFAULT, routeRule, UrlMap } from '../../support/url-map';
import { pathOf } from '../../support/url-map-backend';

// The cases of gRPC's url-map interop suite `retry`, under their names there (gRFC A44).

jest.setTimeout(30_000);

const COUNT = 10;

describe('retry', () => {
  let urlMap: UrlMap;

  beforeEach(async () => {
    urlMap = await UrlMap.start();
  });
  afterEach(() => urlMap.stop());

  /** Sends calls that succeed with their fifth attempt. @returns the statuses, and how often each attempt was made. */
  async function sendWithRetries(retries: number) {
    const policy = { retry_on: 'unavailable', num_retries: retries };
    const action = { retry_policy: policy };
    urlMap.serve([routeRule({ path: pathOf('UnaryCall') }, DEFAULT, { action })]);
    const metadata = { 'rpc-behavior': 'succeed-on-retry-attempt-4,error-code-14' };
    const { codes } = await urlMap.send({ rpc: 'UnaryCall', count: COUNT, metadata });
    const attempts = new Map<number, number>();
    for (const { previousAttempts } of urlMap.backend(DEFAULT).seen) {
      attempts.set(previousAttempts, (attempts.get(previousAttempts) ?? 0) + 1);
    }
    expect(urlMap.endpointsInUse()).toEqual([DEFAULT]);
    return { codes, attempts };
  }

  const eachAttempt = (count: number) =>
    new Map(Array.from({ length: count }, (_, attempt) => [attempt, COUNT]));

  it('TestRetryUpTo3AttemptsAndFail', async () => {
    const { codes, attempts } = await sendWithRetries(3);
    expect(codes).toEqual(new Map([[status.UNAVAILABLE, COUNT]]));
    expect(attempts).toEqual(eachAttempt(4));
  });

  it('TestRetryUpTo4AttemptsAndSucceed', async () => {
    const { codes, attempts } = await sendWithRetries(4);
    expect(codes).toEqual(new Map([[status.OK, COUNT]]));
    expect(attempts).toEqual(eachAttempt(5));
  });
});
