import { CallTurns, MAX_CALLS_IN_TURN } from '../../src/util/call-turns';
import { FakeClock } from '../support/fake-clock';

describe('the turns of calls', () => {
  let clock: FakeClock;
  let turns: CallTurns<string>;
  let begun: string[];
  beforeEach(() => {
    clock = new FakeClock();
    turns = new CallTurns(clock);
    begun = [];
  });

  /** Begins calls of a connection. @returns their streams. */
  function begin(connection: string, count: number) {
    return Array.from({ length: count }, (_, i) => {
      const stream = { closed: false, destroyed: false, on: () => undefined };
      turns.begin(connection, stream, () => void begun.push(`${connection}${i}`));
      return stream;
    });
  }

  const nextTurn = () => clock.advance(1);

  it('begins the calls of a turn at once, up to a limit', () => {
    begin('a', MAX_CALLS_IN_TURN);
    expect(begun).toHaveLength(MAX_CALLS_IN_TURN);
    begin('a', 1);
    begin('b', 1);
    expect(begun).toHaveLength(MAX_CALLS_IN_TURN);
    nextTurn();
    expect(begun.slice(MAX_CALLS_IN_TURN)).toEqual(['a0', 'b0']);
  });

  it('begins all waiting calls, so many in each turn', () => {
    begin('a', 3 * MAX_CALLS_IN_TURN + 1);
    for (let turn = 2; turn <= 3; turn++) {
      nextTurn();
      expect(begun).toHaveLength(turn * MAX_CALLS_IN_TURN);
    }
    nextTurn();
    expect(begun).toHaveLength(3 * MAX_CALLS_IN_TURN + 1);
    // In order.
    expect(begun).toEqual(begun.map((_, i) => `a${i}`));
    nextTurn();
    expect(clock.pendingTimers).toBe(0);
  });

  it('gives connections turns, so that one with many calls delays no other', () => {
    begin('a', 10 * MAX_CALLS_IN_TURN);
    begin('b', 3);
    begin('c', 2);
    nextTurn();
    const first = begun.slice(MAX_CALLS_IN_TURN);
    expect(first).toHaveLength(MAX_CALLS_IN_TURN);
    expect(first.slice(0, 8).map(([connection]) => connection)).toEqual([
      'a',
      'b',
      'c',
      'a',
      'b',
      'c',
      'a',
      'b',
    ]);
  });

  it('lets new calls wait behind those that wait', () => {
    begin('a', MAX_CALLS_IN_TURN);
    begin('b', MAX_CALLS_IN_TURN + 1);
    nextTurn();
    begun = [];
    begin('a', 1);
    expect(begun).toEqual([]);
    nextTurn();
    expect(begun).toEqual([`b${MAX_CALLS_IN_TURN}`, 'a0']);
  });

  it.each(['closed', 'destroyed'] as const)(
    'does not begin a call that is %s meanwhile',
    (state) => {
      begin('a', MAX_CALLS_IN_TURN);
      const [first] = begin('b', 2);
      if (first !== undefined) first[state] = true;
      nextTurn();
      expect(begun.slice(MAX_CALLS_IN_TURN)).toEqual(['b1']);
    },
  );

  it('calls back after the calls of a connection that wait, and not after those of others', () => {
    const note = (connection: string) =>
      turns.after(connection, () => void begun.push(`after ${connection}`));
    begin('a', MAX_CALLS_IN_TURN);
    begin('b', 1);
    note('a');
    note('b');
    expect(begun.slice(MAX_CALLS_IN_TURN)).toEqual(['after a']);
    nextTurn();
    expect(begun.slice(MAX_CALLS_IN_TURN)).toEqual(['after a', 'b0', 'after b']);
  });

  it('does not count calls that have ended', () => {
    begin('a', MAX_CALLS_IN_TURN);
    for (const stream of begin('b', MAX_CALLS_IN_TURN)) stream.destroyed = true;
    begin('c', MAX_CALLS_IN_TURN);
    nextTurn();
    expect(begun).toHaveLength(2 * MAX_CALLS_IN_TURN);
  });

  it('listens to the errors of waiting streams, to which nothing else listens', () => {
    const events: string[] = [];
    const stream = {
      closed: false,
      destroyed: false,
      on: (event: string) => void events.push(event),
    };
    begin('a', MAX_CALLS_IN_TURN);
    turns.begin('b', stream, () => undefined);
    expect(events).toEqual(['error']);
  });
});
