import { ConnectivityState, Status } from '../../src/grpc-js';
import {
  ConnectivityTally,
  createFailurePicker,
  createIdlePicker,
  failureText,
  queuePicker,
} from '../../src/lb/connectivity';
import { LbBatch } from '../../src/lb/tree/lb-batch';
import { FakeClock } from '../support/fake-clock';
import { describePick, pick } from '../support/lb-harness';

const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;

describe('ConnectivityTally', () => {
  it.each([
    [[READY, CONNECTING, IDLE, TRANSIENT_FAILURE], READY],
    [[TRANSIENT_FAILURE, IDLE, CONNECTING], CONNECTING],
    [[TRANSIENT_FAILURE, IDLE], IDLE],
    [[TRANSIENT_FAILURE, TRANSIENT_FAILURE], TRANSIENT_FAILURE],
    [[], TRANSIENT_FAILURE],
  ])('aggregates %j to %s', (states, expected) => {
    const tally = new ConnectivityTally();
    for (const state of states) tally.add(state);
    expect(tally.aggregate()).toBe(expected);
  });

  it('follows children from state to state', () => {
    const tally = new ConnectivityTally();
    tally.add(IDLE);
    tally.add(READY);
    expect(tally.aggregate()).toBe(READY);
    tally.remove(READY);
    tally.add(TRANSIENT_FAILURE);
    expect(tally.aggregate()).toBe(IDLE);
    expect(tally.count(READY)).toBe(0);
    expect(tally.count(TRANSIENT_FAILURE)).toBe(1);
  });
});

describe('pickers', () => {
  it('queue', () => {
    expect(describePick(pick(queuePicker))).toBe('QUEUE');
  });

  it('fail with UNAVAILABLE and the text', () => {
    const result = pick(createFailurePicker('nothing there'));
    expect(describePick(result)).toBe('TRANSIENT_FAILURE nothing there');
    expect(result.status?.code).toBe(Status.UNAVAILABLE);
  });

  it('connect once, after the pick is over, when idle', () => {
    const clock = new FakeClock();
    const batch = new LbBatch((error) => {
      throw error;
    });
    let connects = 0;
    const picker = createIdlePicker({ batch, clock }, () => connects++);
    expect(describePick(pick(picker))).toBe('QUEUE');
    expect(describePick(pick(picker))).toBe('QUEUE');
    expect(connects).toBe(0);
    clock.flush();
    expect(connects).toBe(1);
  });
});

describe('failureText', () => {
  it('appends the resolution note, if there is one', () => {
    expect(failureText('Connection refused', '')).toBe('Connection refused');
    expect(failureText('Connection refused', 'DNS is stale')).toBe(
      'Connection refused. Resolution note: DNS is stale',
    );
  });
});
