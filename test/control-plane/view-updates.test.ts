import {
  MAX_SEND_PAUSE_MS,
  SEND_PAUSE,
  SEND_SLICE_MS,
  ViewUpdates,
  type ChangedStream,
} from '../../src/control-plane/ads/view-updates';
import { logExceptionsBy } from '../../src/grpc-js/host-callbacks';
import { SlowClock } from '../support/slow-clock';

describe('changes for many clients', () => {
  const SEND_MS = SEND_SLICE_MS / 4;
  let clock: SlowClock;
  let updates: ViewUpdates<ChangedStream>;
  let sent: string[];

  beforeEach(() => {
    clock = new SlowClock();
    updates = new ViewUpdates(clock);
    sent = [];
  });

  const stream = (name: string, onSent?: () => void): ChangedStream => ({
    onViewChanged: () => {
      clock.spentMs += SEND_MS;
      sent.push(name);
      onSent?.();
    },
  });
  const streams = (count: number) => Array.from({ length: count }, (_, i) => stream(String(i)));
  const takeSent = () => sent.splice(0).join(' ');

  it('are sent at once to as many as there is time for', () => {
    updates.add(streams(3));
    expect(takeSent()).toBe('0 1 2');
    updates.add(streams(3));
    expect(takeSent()).toBe('0 1 2');
  });

  it('are sent to the others after pauses, in which the process does other work', () => {
    updates.add(streams(10));
    expect(takeSent()).toBe('0 1 2 3');
    clock.advance(SEND_PAUSE * SEND_SLICE_MS - 1);
    expect(takeSent()).toBe('');
    clock.advance(1);
    expect(takeSent()).toBe('4 5 6 7');
    clock.advance(SEND_PAUSE * SEND_SLICE_MS);
    expect(takeSent()).toBe('8 9');
  });

  it('become one for those that wait, the longest-waiting first', () => {
    const all = streams(6);
    updates.add(all);
    expect(takeSent()).toBe('0 1 2 3');
    updates.add(all);
    updates.add(all);
    expect(takeSent()).toBe('');
    clock.advance(SEND_PAUSE * SEND_SLICE_MS);
    expect(takeSent()).toBe('4 5 0 1');
    clock.advance(SEND_PAUSE * SEND_SLICE_MS);
    expect(takeSent()).toBe('2 3');
  });

  it('are sent by the same round if one of them follows from another', () => {
    let isFirst = true;
    const second = stream('b');
    const first = stream('a', () => {
      if (isFirst) updates.add([first, second]);
      isFirst = false;
    });
    updates.add([first]);
    expect(takeSent()).toBe('a a b');
  });

  it('are not sent to a client that is gone', () => {
    const [gone, ...others] = streams(6).reverse();
    if (gone === undefined) throw new Error('there is no stream');
    updates.add([...others, gone]);
    updates.remove(gone);
    takeSent();
    clock.advance(SEND_PAUSE * SEND_SLICE_MS);
    expect(takeSent()).toBe('0');
  });

  it('are sent to others after one whose sending throws, which is logged', () => {
    const errors: string[] = [];
    logExceptionsBy({ error: (text) => errors.push(text()) });
    const throws = stream('throws', () => {
      throw new Error('sent too much');
    });
    updates.add([throws, ...streams(6)]);
    expect(takeSent()).toBe('throws 0 1 2');
    expect(errors).toEqual([
      expect.stringMatching(/^unexpected error in a stream of a client: Error: sent too much/),
    ]);
    clock.advance(SEND_PAUSE * SEND_SLICE_MS);
    expect(takeSent()).toBe('3 4 5');
  });

  it('do not wait long after one that took very long', () => {
    const slow = stream('slow', () => (clock.spentMs += 60_000));
    updates.add([slow, stream('a')]);
    expect(takeSent()).toBe('slow');
    clock.advance(MAX_SEND_PAUSE_MS);
    expect(takeSent()).toBe('a');
  });
});
