import { MAX_INITIAL_VERSIONS_LENGTH } from '../../src/xds-client/limits';
import { DeltaHarness, Harness } from './harness';
import { TestResourceType } from './test-resource';
import { MAX_VERSION_LENGTH } from '../../src/util/limits';

const plain = new TestResourceType('Plain', false);
const longest = 'v'.repeat(MAX_VERSION_LENGTH);

it('rejects an incremental resource whose version is too long', () => {
  const h = new DeltaHarness();
  const a = h.watch(plain, 'a');
  h.sendDelta(plain, `${longest}v`, { a: 'one' });
  // The other version of the response is longer still.
  expect(h.stream.deltaRequests.at(-1)?.errorDetail?.message).toContain(
    'system_version_info: more',
  );
  h.stream.respondDelta({
    typeUrl: plain.typeUrl,
    resources: [
      {
        name: 'a',
        resourceName: undefined,
        aliases: [],
        ttl: undefined,
        version: `${longest}v`,
        resource: plain.resource('a', 'one'),
      },
    ],
  });
  h.clock.advance(1000);
  expect(h.stream.deltaRequests.at(-1)?.errorDetail?.message).toContain(
    `version: more than ${MAX_VERSION_LENGTH} characters`,
  );
  expect(a.values).toEqual([]);
});

it('rejects a response whose version is too long, and accepts the next one', () => {
  const h = new Harness();
  const a = h.watch(plain, 'a');
  h.send(plain, `${longest}v`, { a: 'one' });
  expect(h.stream.requests.at(-1)?.errorDetail?.message).toContain(
    `version_info: more than ${MAX_VERSION_LENGTH} characters`,
  );
  h.send(plain, longest, { a: 'two' });
  expect(a.values).toEqual([{ text: 'two' }]);
});

it('ends a stream on a nonce that is too long to be repeated', () => {
  const h = new Harness();
  h.watch(plain, 'a');
  h.stream.respond({ typeUrl: plain.typeUrl, nonce: `${longest}v` });
  expect(h.stream.isOpen).toBe(false);
  expect(h.logger.errors.join()).toContain(
    'sent a response whose nonce has more than 8192 characters',
  );
});

it('begins a stream with versions of 1 MiB at most, which it logs once', () => {
  const h = new DeltaHarness();
  const count = MAX_INITIAL_VERSIONS_LENGTH / 8000 + 5;
  const names = Array.from({ length: count }, (_, index) => `r${index}`);
  for (const name of names) h.watch(plain, name);
  for (const name of names) {
    h.stream.respondDelta({
      typeUrl: plain.typeUrl,
      resources: [
        {
          name,
          resourceName: undefined,
          aliases: [],
          ttl: undefined,
          version: 'v'.repeat(8000),
          resource: plain.resource(name, 'one'),
        },
      ],
    });
  }
  for (let i = 0; i < 2; i++) {
    h.stream.end();
    h.clock.advance(3000);
    const [first] = h.stream.deltaRequests;
    expect(first?.resourceNamesSubscribe).toHaveLength(names.length);
    expect(first?.initialResourceVersions.size).toBe(
      Math.floor(MAX_INITIAL_VERSIONS_LENGTH / 8000),
    );
  }
  const logged = h.logger.errors.filter((text) => text.includes('without the versions of'));
  expect(logged).toHaveLength(1);
});
