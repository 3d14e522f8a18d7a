import {
  describeClient,
  describeResource,
  encodeStatus,
} from '../../../src/observe/admin/status-queue';
import { ClientStatusResponse } from '../../../src/wire/generated/envoy/service/status/v3/csds';
import { runSteps } from '../../support/run-steps';
import { observedClient, type ListedClient } from '../../support/observed-client';

const ALL = { excludeContents: false };

/** The response as the generated code encodes the whole of it. */
function wholeOf(clients: readonly ListedClient[], options = ALL): Buffer {
  const config = clients.map((client) => ({
    ...describeClient(client),
    genericXdsConfigs: client.resources.map((each) => describeResource(each, options)),
  }));
  return canonical(ClientStatusResponse.encode({ config }).finish());
}

/** Equal for two encodings of the same message. */
function canonical(response: Uint8Array): Buffer {
  return Buffer.from(ClientStatusResponse.encode(ClientStatusResponse.decode(response)).finish());
}

describe('the encoder of CSDS responses', () => {
  it.each<[string, readonly ListedClient[]]>([
    ['no client', []],
    ['a client without resources', [observedClient('a', 0)]],
    ['a full step', [observedClient('a', 64)]],
    [
      'several steps and clients',
      [observedClient('a', 600), observedClient('b', 0), observedClient('c', 1)],
    ],
    ['a resource larger than a step', [observedClient('a', 3, 2 * 1024 * 1024)]],
  ])('encodes what the generated code encodes: %s', (_, clients) => {
    for (const excludeContents of [true, false]) {
      const response = runSteps(encodeStatus(clients, { excludeContents }));
      expect(canonical(response).equals(wholeOf(clients, { excludeContents }))).toBe(true);
    }
  });

  it.each([
    ['64 resources', observedClient('a', 640, 10), 10],
    ['256 KiB', observedClient('a', 6, 250_000), 3],
  ])('encodes %s in a step', (_, client, atLeast) => {
    let steps = 0;
    for (const work = encodeStatus([client], ALL); work.next().done !== true;) steps++;
    expect(steps).toBeGreaterThanOrEqual(atLeast);
    expect(steps).toBeLessThanOrEqual(2 * atLeast);
  });

  it('copies resources as it reaches them', () => {
    const client = observedClient('a', 640);
    let copied = 0;
    function* resources() {
      for (const resource of client.resources) {
        copied++;
        yield resource;
      }
    }
    const work = encodeStatus([{ ...client, resources: resources() }], ALL);
    const seen: number[] = [];
    while (work.next().done !== true) seen.push(copied);
    expect(seen.slice(0, 3)).toEqual([64, 128, 192]);
  });
});
