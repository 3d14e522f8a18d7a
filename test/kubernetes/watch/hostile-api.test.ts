import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { HttpsApi } from '../../../packages/kubernetes/src/api/https-api';
import { Reflector } from '../../../packages/kubernetes/src/api/reflector';
import { WATCHED_RESOURCES } from '../../../packages/kubernetes/src/api/watched-kinds';
import { keyOf } from '../../../packages/kubernetes/src/object-key';
import { systemClock, type Clock } from '../../../src/util/clock';
import { TimeSlices } from '../../../src/util/time-slices';
import { eventually } from '../../support/eventually';
import { HostileKubernetesApi } from './hostile-kubernetes-api';
import { accessTo, loadClientNode } from './kubernetes-access';
import { serviceJson } from '../../support/kubernetes-objects';
import { seededRandom } from '../../support/seeded-random';

const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-hostile-kube-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Waits for a thousandth of the time between requests. Only the reflector has it: requests have the time that they need. */
const impatient: Clock = {
  ...systemClock,
  setTimer: (callback, delayMs) => systemClock.setTimer(callback, delayMs / 1000),
};

// 1. An API server changes 20 objects a thousand times. Half of what it sends is cut, garbled, repeated or out of order.
// 2. No object is ever deleted that the server still has.
// 3. When it does nothing wrong any more, the objects are those of the server.
it.each([1, 2, 3])(
  'ends with the objects of an API server that misbehaves (seed %d)',
  async (seed) => {
    const random = seededRandom(seed);
    const server = new HostileKubernetesApi(random);
    const port = await server.start();
    const access = accessTo(await loadClientNode(), {
      path: join(folder, String(seed)),
      server: `http://127.0.0.1:${port}`,
      cluster: { 'insecure-skip-tls-verify': true },
    });
    const timeSlices = new TimeSlices(systemClock);
    const api = new HttpsApi({ access, clock: systemClock });
    const [resource] = WATCHED_RESOURCES;
    if (resource === undefined) throw new Error('no kind');
    const known = new Map<string, string>();
    /** Keys that the server has never deleted. */
    const lasting = new Set<string>();
    const wrong: string[] = [];
    const reflector = new Reflector({
      api,
      resource,
      known: [],
      clock: impatient,
      random,
      timeSlices,
      listener: {
        onObject: ({ meta }) => void known.set(keyOf(meta), meta.resourceVersion),
        onDeleted: (key) => {
          known.delete(key);
          if (lasting.has(key)) wrong.push(`${key} was deleted`);
        },
        onListed() {},
        onFailure() {},
        onWorking() {},
        onUnreadable: ({ key, violations }) => {
          if (key !== undefined) wrong.push(violations.join());
        },
      },
    });
    for (let i = 0; i < 10; i++) {
      lasting.add(`shop/s${i}`);
      server.write(`shop/s${i}`, (version) => serviceJson(`s${i}`, { version }));
    }
    reflector.start();
    for (let i = 0; i < 1000; i++) {
      const name = `s${Math.floor(random() * 20)}`;
      const isDeleted = !lasting.has(`shop/${name}`) && random() < 0.4;
      server.write(
        `shop/${name}`,
        isDeleted ? undefined : (version) => serviceJson(name, { version }),
      );
      if (random() < 0.01) server.compact();
      await nextTurn();
      if (i % 50 === 0)
        await eventually(
          () => reflector.read().phase,
          (phase) => phase === 'watching',
        );
    }
    server.calm();
    server.write('shop/last', (version) => serviceJson('last', { version }));
    const expected = versionsOf(server.content);
    await eventually(
      () => JSON.stringify([...known].sort()),
      (text) => text === JSON.stringify(expected),
    );
    expect(wrong).toEqual([]);
    expect([...server.faults.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(50);
    reflector.stop();
    api.close();
    server.stop();
  },
);

function versionsOf(content: ReadonlyMap<string, object>): readonly (readonly [string, string])[] {
  return [...content]
    .map(([key, json]): [string, string] => {
      const { metadata } = json as { readonly metadata: { readonly resourceVersion: string } };
      return [key, metadata.resourceVersion];
    })
    .sort();
}
