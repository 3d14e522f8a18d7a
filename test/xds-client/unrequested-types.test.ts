import { DeltaHarness, Harness } from './harness';

const SERVER = 'management server xds.test:1 (node "node-1")';
const UNKNOWN = 'type.googleapis.com/test.Unknown';

describe.each([
  [
    'state of the world',
    () => new Harness(),
    (h: Harness, typeUrl: string) => h.stream.respond({ typeUrl, versionInfo: '1' }),
  ],
  [
    'incremental',
    () => new DeltaHarness(),
    (h: Harness, typeUrl: string) => h.stream.respondDelta({ typeUrl, systemVersionInfo: '1' }),
  ],
])('a response of a type that was not requested (%s)', (_variant, create, respond) => {
  const requests = ({ stream }: Harness) => [...stream.requests, ...stream.deltaRequests];

  it('is neither acknowledged nor rejected, and is logged once', () => {
    const h = create();
    h.watch(h.listener, 'a');
    h.stream.clearRequests();
    for (let round = 0; round < 3; round++) respond(h, UNKNOWN);
    expect(requests(h)).toEqual([]);
    expect(h.logger.errors).toEqual([
      `update from ${SERVER} dropped: type_url "${UNKNOWN}" was not requested on the stream`,
    ]);
  });

  it('is dropped even if the type is known and was requested on an earlier stream', () => {
    const h = create();
    h.watch(h.listener, 'stays');
    const left = h.watch(h.endpoints, 'left');
    left.release();
    h.clock.advance(1000);
    respond(h, h.listener.typeUrl);
    h.stream.end();
    h.clock.advance(1000);
    expect(h.server.streams).toHaveLength(2);
    h.stream.clearRequests();
    respond(h, h.endpoints.typeUrl);
    expect(requests(h)).toEqual([]);
    expect(h.logger.errors).toEqual([
      `update from ${SERVER} dropped: type_url "${h.endpoints.typeUrl}" was not requested on the stream`,
    ]);
  });

  it('does not keep the type from being requested later', () => {
    const h = create();
    h.watch(h.listener, 'a');
    respond(h, h.endpoints.typeUrl);
    h.stream.clearRequests();
    h.watch(h.endpoints, 'b');
    expect(requests(h)).toMatchObject([{ typeUrl: h.endpoints.typeUrl, responseNonce: '' }]);
  });

  it('shows that the server answers', () => {
    const h = create();
    h.watch(h.listener, 'a');
    respond(h, UNKNOWN);
    expect(h.client.snapshot().servers[0]).toMatchObject({ state: 'open', lastError: undefined });
    h.clock.advance(15_000);
    expect(h.client.snapshot().servers[0]).toMatchObject({ lastError: undefined });
  });

  it('is logged for 16 types at most, with a bounded part of the name', () => {
    const h = create();
    h.watch(h.listener, 'a');
    for (let round = 0; round < 20; round++) respond(h, `${round}`.padEnd(10_000, 'x'));
    expect(h.logger.errors).toHaveLength(16);
    for (const line of h.logger.errors) expect(line.length).toBeLessThan(1000);
  });
});
