import { promises as dns } from 'node:dns';
import { createDnsWatcherFactory } from '../../src/dependency-manager/dns-watch';
import { dnsTargetKey } from '../../src/dependency-manager/observations';
import type { ChannelOptions } from '../../src/grpc-js';
import { noMetadata, type EndpointsResource } from '../../src/resources/endpoints/endpoints';
import { MAX_DNS_ADDRESSES } from '../../src/util/limits';
import { silentLogger } from '../../src/util/logger';
import type { Result } from '../../src/util/result';

type DnsResult = Result<EndpointsResource, string>;

/** A watch on a name through the host library's resolver, with its results. */
class Scene {
  readonly results: DnsResult[] = [];
  readonly errors: string[] = [];
  readonly watch;
  private onResult: () => void = () => {};

  constructor(host: string, port: number, options: ChannelOptions = {}) {
    const factory = createDnsWatcherFactory(
      {
        'grpc.dns_min_time_between_resolutions_ms': 1,
        'grpc.initial_reconnect_backoff_ms': 1,
        ...options,
      },
      { ...silentLogger, error: (text) => this.errors.push(text()) },
    );
    this.watch = factory.start({ host, port }, (result) => {
      this.results.push(result);
      this.onResult();
    });
    scenes.push(this);
  }

  /** The n-th result, counted from one, once it is there. */
  async result(count: number): Promise<DnsResult> {
    await new Promise<void>((resolve) => {
      this.onResult = () => {
        if (this.results.length >= count) resolve();
      };
      this.onResult();
    });
    const result = this.results[count - 1];
    if (result === undefined) throw new Error(`There is no result ${count}`);
    return result;
  }

  async value(count: number): Promise<EndpointsResource> {
    const result = await this.result(count);
    if (!result.ok) throw new Error(result.error);
    return result.value;
  }
}

const scenes: Scene[] = [];
const realLookup = dns.lookup;

afterEach(() => {
  jest.restoreAllMocks();
  dns.lookup = realLookup;
  for (const { watch } of scenes.splice(0)) watch.release();
});

/** Everything that is already on its way has arrived afterwards. */
async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setTimeout(resolve, 2));
}

function addressesOf(resource: EndpointsResource): readonly string[] {
  const endpoint = resource.priorities[0]?.localities[0]?.endpoints[0];
  return (endpoint?.addresses ?? []).map(({ host, port }) => dnsTargetKey({ host, port }));
}

/**
 * Answers every lookup with the next of these; an error message fails it.
 * @returns a function that returns the number of lookups.
 */
function scriptLookups(...answers: readonly (readonly string[] | string)[]): () => number {
  let next = 0;
  const lookUp = () => {
    const answer = answers[Math.min(next++, answers.length - 1)] ?? [];
    if (typeof answer === 'string') return Promise.reject(new Error(answer));
    return Promise.resolve(answer.map((address) => ({ address, family: 4 })));
  };
  Reflect.set(dns, 'lookup', lookUp);
  return () => next;
}

describe('dnsTargetKey', () => {
  it.each([
    ['db.example', 5432, 'db.example:5432'],
    ['10.0.0.1', 80, '10.0.0.1:80'],
    ['::1', 80, '[::1]:80'],
  ])('of %s and %d is %s', (host, port, key) => {
    expect(dnsTargetKey({ host, port })).toBe(key);
  });
});

describe('createDnsWatcherFactory', () => {
  it('makes one endpoint of all addresses, in one locality without a name', async () => {
    const scene = new Scene('127.0.0.1', 8080);
    expect(scene.results).toEqual([]);
    expect(await scene.value(1)).toEqual({
      clusterName: '127.0.0.1:8080',
      priorities: [
        {
          localities: [
            {
              locality: { region: '', zone: '', subZone: '' },
              weight: 1,
              endpoints: [
                {
                  addresses: [{ host: '127.0.0.1', port: 8080 }],
                  weight: 1,
                  health: 'UNKNOWN',
                  hostname: '127.0.0.1:8080',
                  hashKey: undefined,
                  metadata: noMetadata,
                },
              ],
            },
          ],
        },
      ],
      drops: [],
    });
  });

  it('accepts an IPv6 address', async () => {
    expect(addressesOf(await new Scene('::1', 443).value(1))).toEqual(['[::1]:443']);
  });

  it('resolves a name', async () => {
    const addresses = addressesOf(await new Scene('localhost', 50051).value(1));
    const known = await dns.lookup('localhost', { all: true });
    const expected = known.map(({ address }) => dnsTargetKey({ host: address, port: 50051 }));
    expect([...addresses].sort()).toEqual([...expected].sort());
  });

  it('uses the first 1000 different addresses of an answer, and says so in the log', async () => {
    const many = Array.from({ length: 10_000 }, (_, i) => `10.1.${i >> 8}.${i & 255}`);
    scriptLookups([...many.slice(0, 5), ...many, ...many]);
    const scene = new Scene('db.example', 80);
    const expected = many.slice(0, MAX_DNS_ADDRESSES).map((address) => `${address}:80`);
    expect(addressesOf(await scene.value(1))).toEqual(expected);
    expect(scene.errors).toEqual([
      'DNS resolution of db.example:80: 10000 addresses, of which the first 1000 are used',
    ]);
  });

  it('has an address once that an answer has twice, and those with a zone', async () => {
    scriptLookups(['127.0.0.1', '127.0.0.1', 'fe80::1%eth0', '127.0.0.1']);
    const resource = await new Scene('db.example', 80).value(1);
    expect(addressesOf(resource)).toEqual(['127.0.0.1:80', '[fe80::1%eth0]:80']);
  });

  it('puts several addresses into the one endpoint, in their order', async () => {
    scriptLookups(['10.0.0.2', '10.0.0.1']);
    const resource = await new Scene('db.example', 80).value(1);
    expect(resource.priorities[0]?.localities[0]?.endpoints).toHaveLength(1);
    expect(addressesOf(resource)).toEqual(['10.0.0.2:80', '10.0.0.1:80']);
  });

  it('has a locality without endpoints when a name has no addresses', async () => {
    scriptLookups([]);
    const resource = await new Scene('db.example', 80).value(1);
    expect(resource.priorities[0]?.localities[0]?.endpoints).toEqual([]);
  });

  it('keeps the object for the same addresses, and replaces it for others', async () => {
    scriptLookups(['10.0.0.1'], ['10.0.0.1'], ['10.0.0.2']);
    const scene = new Scene('db.example', 80);
    const first = await scene.value(1);
    scene.watch.requestReresolution();
    expect(await scene.value(2)).toBe(first);
    scene.watch.requestReresolution();
    const third = await scene.value(3);
    expect(third).not.toBe(first);
    expect(addressesOf(third)).toEqual(['10.0.0.2:80']);
  });

  it('reports the name that cannot be resolved, and the reason', async () => {
    scriptLookups('getaddrinfo ENOTFOUND db.example', 'getaddrinfo EAI_AGAIN db.example');
    const scene = new Scene('db.example', 80);
    const failure = (cause: string) => ({
      ok: false,
      error: `DNS resolution of db.example:80 failed: getaddrinfo ${cause} db.example: check the name, and the DNS servers of this host`,
    });
    expect(await scene.result(1)).toEqual(failure('ENOTFOUND'));
    expect(await scene.result(2)).toEqual(failure('EAI_AGAIN'));
  });

  it('tries again after a failure, and keeps the last answer', async () => {
    scriptLookups(['10.0.0.1'], 'down', 'down', ['10.0.0.1']);
    const scene = new Scene('db.example', 80);
    const first = await scene.value(1);
    scene.watch.requestReresolution();
    expect((await scene.result(2)).ok).toBe(false);
    expect((await scene.result(3)).ok).toBe(false);
    expect(await scene.value(4)).toBe(first);
  });

  it('does not request service configs, which would be ignored', async () => {
    const texts = jest.spyOn(dns, 'resolveTxt').mockResolvedValue([]);
    scriptLookups(['10.0.0.1']);
    const scene = new Scene('db.example', 80);
    await scene.value(1);
    await settle();
    expect(texts).not.toHaveBeenCalled();
    expect(scene.results).toHaveLength(1);
  });

  it.each([
    ['an address', '127.0.0.1'],
    ['a name', 'localhost'],
    ['a name that does not exist', 'does-not-exist.invalid'],
    ['no name at all', '[broken'],
  ])('tells nothing after its release, which may be given twice: %s', async (_what, host) => {
    const scene = new Scene(host, 80);
    scene.watch.release();
    scene.watch.release();
    await settle();
    expect(scene.results).toEqual([]);
  });

  it('stops resolving an invalid name with its release', async () => {
    const scene = new Scene('[broken', 80);
    expect(await scene.result(1)).toEqual({
      ok: false,
      error:
        'DNS resolution of [broken:80 failed: Failed to parse DNS address dns:[broken:80: ' +
        'check the name, and the DNS servers of this host',
    });
    scene.watch.release();
    const before = scene.results.length;
    await settle();
    expect(scene.results).toHaveLength(before);
  });

  it('ignores requests to resolve again after its release', async () => {
    const lookups = scriptLookups(['10.0.0.1']);
    const scene = new Scene('db.example', 80);
    await scene.value(1);
    scene.watch.release();
    scene.watch.requestReresolution();
    await settle();
    expect(scene.results).toHaveLength(1);
    expect(lookups()).toBe(1);
  });
});
