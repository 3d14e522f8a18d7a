import { CallSamples } from '../../../src/observe/rates/call-samples';
import { ProcessRates } from '../../../src/observe/rates/process-rates';
import { FakeClock } from '../../support/fake-clock';

const TARGET = 'xds:///shop';

describe('sampled calls', () => {
  let drawn: number;
  let samples: CallSamples;
  beforeEach(() => {
    drawn = 0;
    samples = new CallSamples(() => drawn, new FakeClock());
  });

  const call = (path: string, headers: readonly (readonly [string, string])[] = []) => {
    const sample = samples.draw(TARGET, path);
    sample?.onMatched(headers);
    sample?.end(0, 5, 'cart');
  };

  it('are none unless a page wants them, and those below the largest share of the pages', () => {
    call('/off');
    const [small, large] = [samples.acquire(0.01), samples.acquire(0.5)];
    drawn = 0.49;
    call('/drawn');
    drawn = 0.5;
    call('/not-drawn');
    large.release();
    drawn = 0.49;
    call('/not-drawn-any-more');
    expect(samples.of(TARGET).map(({ path }) => path)).toEqual(['/drawn']);
    expect(samples.of('xds:///other')).toEqual([]);
    const pending = samples.draw(TARGET, '/none');
    expect(pending).toBeUndefined();
    small.release();
    expect(samples.of(TARGET)).toEqual([]);
  });

  it('are the latest 100, with 16 headers and 256 characters of each text', () => {
    samples.acquire(1);
    const long = 'x'.repeat(1000);
    const headers = Array.from({ length: 20 }, (_, index) => [`h${index}`, long] as const);
    for (let index = 0; index < 150; index++) call(`/${index}/${long}`, headers);
    const kept = samples.of(TARGET);
    expect(kept).toHaveLength(100);
    expect(kept[0]?.path).toMatch(/^\/149\/x+…$/);
    expect(kept[0]?.path).toHaveLength(257);
    expect(kept[0]?.headers).toHaveLength(16);
    expect(kept[0]?.headers[0]?.value).toHaveLength(257);
  });

  it('have no value of a header that may have credentials', () => {
    samples.acquire(1);
    const secret = 'Bearer eyJhbGciOi';
    const names = [
      ...['authorization', 'cookie', 'x-api-key', 'session-token', 'auth', 'x-auth', 'x-session'],
      ...['sessionid', 'x-otp', 'x-pin', 'x-csrf', 'x-goog-iap-jwt-assertion'],
      ...['x-forwarded-client-cert', 'x-sso-ticket'],
    ];
    call('/a', [...names.map((name) => [name, secret] as const), ['x-user', 'beta']]);
    expect(JSON.stringify(samples.of(TARGET))).not.toContain('eyJ');
    expect(samples.of(TARGET)[0]?.headers.at(-1)).toEqual({ name: 'x-user', value: 'beta' });
  });

  it('end with the route, the cluster that got them last, and their endpoint', () => {
    const clock = new FakeClock();
    samples.acquire(1);
    const rates = new ProcessRates(samples);
    rates.acquire(clock);
    const counted = rates.channel(TARGET).current?.startCall(clock, '/shop.Cart/Add');
    const routes = [{ name: 'first' }, { name: 'second' }];
    counted?.onRouted({ route: routes[1] ?? {}, routes, index: 1, label: () => 'second' }, 'cart');
    counted?.onMoved('cart-b');
    counted?.sample?.onPicked('127.0.0.1:443');
    counted?.end(14);
    expect(samples.of(TARGET)).toMatchObject([
      {
        route: { index: 1, label: 'second' },
        cluster: 'cart-b',
        endpoint: '127.0.0.1:443',
        code: 14,
      },
    ]);
  });
});
