import { ElementCounts, ReservedElements } from '../../src/xds-client/budgets';
import {
  cacheLimit,
  MAX_NAME_LENGTH,
  MAX_RESOURCES_PER_RESPONSE,
  UPDATE_BURST,
  UPDATES_PER_SECOND,
} from '../../src/xds-client/limits';
import { UpdateBudget } from '../../src/xds-client/budgets';
import { ResponseOrder } from '../../src/xds-client/ads/ads-response';
import { readResponse } from '../../src/xds-client/ads/response-reader';
import { parseResourceName } from '../../src/xds-client/resource-name';
import { Harness, RecordingWatcher, serverConfig } from './harness';
import { serverPolicy } from '../../src/xds-client/server-policy';
import { TestResourceType } from './test-resource';
import { runSteps } from '../../src/util/steps';

describe('UpdateBudget', () => {
  it('gives a burst, then so many per second, and fills up again', () => {
    const budget = new UpdateBudget(1000);
    for (let i = 0; i < UPDATE_BURST; i++) expect(budget.take(1000)).toBe(0);
    const intervalMs = 1000 / UPDATES_PER_SECOND;
    expect(budget.take(1000)).toBeCloseTo(intervalMs);
    expect(budget.take(1000 + intervalMs / 2)).toBeCloseTo(intervalMs / 2);
    expect(budget.take(1000 + intervalMs)).toBe(0);
    expect(budget.take(1000 + intervalMs)).toBeGreaterThan(0);
    const muchLater = 10_000_000;
    for (let i = 0; i < UPDATE_BURST; i++) expect(budget.take(muchLater)).toBe(0);
    expect(budget.take(muchLater)).toBeGreaterThan(0);
  });
});

/** A client whose watcher has been told so much of one resource that it is told no more for now. */
function flooded() {
  const h = new Harness();
  const watcher = h.watch(h.endpoints, 'a');
  for (let i = 1; i <= UPDATE_BURST; i++) h.send(h.endpoints, `${i}`, { a: `value ${i}` });
  expect(watcher.take()).toHaveLength(UPDATE_BURST);
  return { h, watcher };
}

describe('a resource that changes without a pause', () => {
  it('is passed on less often, and the last change in any case', () => {
    const { h, watcher } = flooded();
    for (let i = 1; i <= 1000; i++) {
      h.send(h.endpoints, `x${i}`, { a: `late ${i}` });
      h.clock.advance(1);
    }
    h.clock.advance(100);
    const told = watcher.take();
    expect(told.length).toBeGreaterThan(0.9 * UPDATES_PER_SECOND);
    expect(told.length).toBeLessThan(1.1 * UPDATES_PER_SECOND);
    expect(told.at(-1)).toBe('value late 1000');
    expect(h.clock.pendingTimers).toBe(0);
  });

  it('is acknowledged and shown as it is meanwhile', () => {
    const { h } = flooded();
    h.send(h.endpoints, 'last', { a: 'last' });
    expect(h.stream.request.versionInfo).toBe('last');
    const [resource] = h.client.snapshot().resources;
    expect(Buffer.from(resource?.accepted?.bytes ?? []).toString()).toBe('a\nlast');
  });

  it('is not passed on at all if it is as before when its time comes', () => {
    const { h, watcher } = flooded();
    const value = `value ${UPDATE_BURST}`;
    h.send(h.endpoints, 'x', { a: '!bad' });
    h.send(h.endpoints, 'y', { a: value });
    h.clock.advance(1000);
    expect(watcher.take()).toEqual([]);
  });

  it('is passed on with what is wrong beside it', () => {
    const { h, watcher } = flooded();
    h.send(h.endpoints, 'x', { a: 'late' });
    h.send(h.endpoints, 'y', { a: '!bad' });
    h.clock.advance(1000);
    expect(watcher.take()).toEqual([
      'value late',
      expect.stringMatching(/^ambient Endpoints "a": .* bad$/),
    ]);
  });

  it('is passed on to all watchers when one is added, and to none of them twice', () => {
    const { h, watcher } = flooded();
    h.send(h.endpoints, 'x', { a: 'late' });
    const newcomer = h.watch(h.endpoints, 'a');
    expect([watcher.take(), newcomer.take()]).toEqual([['value late'], ['value late']]);
    h.clock.advance(1000);
    expect([watcher.take(), newcomer.take()]).toEqual([[], []]);
  });

  it('leaves nothing behind when it is watched no more', () => {
    const { h, watcher } = flooded();
    h.watch(h.listener, 'other');
    h.send(h.listener, '1', { other: 'one' });
    h.send(h.endpoints, 'x', { a: 'late' });
    watcher.release();
    expect(h.clock.pendingTimers).toBe(0);
    h.clock.advance(1000);
    expect(watcher.take()).toEqual([]);
  });

  it('does not keep others waiting', () => {
    const { h } = flooded();
    const other = h.watch(h.endpoints, 'b');
    h.send(h.endpoints, 'x', { a: 'late', b: 'one' });
    expect(other.told).toEqual(['value one']);
  });
});

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
            isRequested: true,
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
            resources: new Map([['a', { accepted: undefined }]]),
            elements: new ReservedElements(new ElementCounts()),
            cacheLimit: cacheLimit(),
            onError: () => undefined,
            order: new ResponseOrder(type.typeUrl),
          },
        ),
      );
    const { violations, events, isComplete, invalid } = read(MAX_RESOURCES_PER_RESPONSE + 1);
    expect(violations).toEqual([
      `${MAX_RESOURCES_PER_RESPONSE + 1} resources, more than ${MAX_RESOURCES_PER_RESPONSE}`,
    ]);
    expect([events.size, isComplete, invalid]).toEqual([0, false, MAX_RESOURCES_PER_RESPONSE + 1]);
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
