import { ElementCounts } from '../../src/xds-client/budgets';
import { cacheLimit } from '../../src/xds-client/limits';
import { ResponseOrder } from '../../src/xds-client/ads/ads-response';
import { readResponse } from '../../src/xds-client/ads/read-response';
import { parseResourceName } from '../../src/xds-client/resource-name';
import { cachedResource, Harness, RecordingWatcher, serverConfig } from './harness';
import { serverPolicy } from '../../src/xds-client/server-policy';
import { TestResourceType } from './test-resource';
import { MAX_NAME_LENGTH, MAX_RESOURCES } from '../../src/util/limits';
import { runSteps } from '../support/run-steps';

describe('a response with too many resources', () => {
  it('is rejected without a look at them, and deletes nothing', () => {
    const type = new TestResourceType('T', true);
    const itself = { name: 'a', aliases: [], version: '1', ttlMs: undefined, problem: undefined };
    const item = { ...itself, resource: type.resource('a', 'one') };
    const read = (count: number) =>
      runSteps(
        readResponse(
          {
            typeUrl: type.typeUrl,
            nonce: 'n',
            version: '1',
            items: { length: count, at: () => item, consistsOf: () => false },
            removed: [],
            errors: [],
            isComplete: true,
          },
          {
            type,
            server: serverConfig('xds.test:1'),
            certificateProviders: new Set(),
            parseName: parseResourceName,
            origin: {
              server: 's',
              policy: serverPolicy({ serverUri: 's:1', features: new Set() }, true),
              nowMs: 0,
            },
            resources: new Map([['a', cachedResource()]]),
            elements: new ElementCounts(),
            cacheLimit: cacheLimit(),
            onError: () => undefined,
            order: new ResponseOrder(type.typeUrl),
          },
        ),
      );
    const { violations, events, isComplete, invalid } = read(MAX_RESOURCES + 1);
    expect(violations).toEqual([`${MAX_RESOURCES + 1} resources, more than ${MAX_RESOURCES}`]);
    expect([events.size, isComplete, invalid]).toEqual([0, false, MAX_RESOURCES + 1]);
    expect(read(2).events.size).toBe(1);
  });
});

describe('a name that is too long', () => {
  const name = 'x'.repeat(MAX_NAME_LENGTH + 1);

  it('makes its resource a violation, and the others count', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { [name]: 'one', a: 'two' });
    expect(h.stream.request.errorDetail?.message).toBe(
      `resources[0]: its name has more than ${MAX_NAME_LENGTH} characters`,
    );
    expect(watcher.told).toEqual(['value two']);
  });

  it('is not requested, and not shown as a whole', () => {
    const h = new Harness();
    const watcher = new RecordingWatcher();
    h.client.watch(h.listener, name, watcher);
    expect(watcher.told).toHaveLength(1);
    expect(watcher.told[0]?.length).toBeLessThan(1000);
    expect(watcher.told[0]).toContain(`longer than ${MAX_NAME_LENGTH} characters`);
    expect(h.server.streams).toEqual([]);
  });

  it('is fine if it is one character shorter', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, name.slice(1));
    h.send(h.listener, '1', { [name.slice(1)]: 'one' });
    expect(watcher.told).toEqual(['value one']);
  });
});
