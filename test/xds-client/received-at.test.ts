import { createBudgets } from '../../src/xds-client/budgets';
import { Harness, RecordingWatcher } from './harness';

it('knows when a response was received for as long as its effects wait, whatever another bootstrap does', () => {
  const budgets = createBudgets({}, 0);
  const [a, b] = [new Harness({ budgets }), new Harness({ budgets })];
  const seen: (number | undefined)[] = [];
  // More than a turn: the second watcher is called in the next one.
  const monotonicMs = a.clock.monotonicMs.bind(a.clock);
  let spentMs = 0;
  a.clock.monotonicMs = () => monotonicMs() + spentMs;
  const onTold = () => {
    seen.push(a.client.receivedAtMs);
    spentMs += 20;
  };
  a.watch(a.endpoints, 'x', new RecordingWatcher(onTold));
  a.watch(a.endpoints, 'y', new RecordingWatcher(onTold));
  a.send(a.endpoints, '1', { x: '1', y: '1' });
  a.clock.flush();
  b.watch(b.endpoints, 'z');
  a.clock.advance(1);
  expect(seen).toEqual([0, 0]);
});
