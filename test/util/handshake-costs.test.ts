import {
  COSTLY_MS,
  HandshakeCosts,
  MAX_DELAY_MS,
  MAX_DELAYED_SOURCES,
  REMEMBERED_MS,
  sourceOf,
  SourceDelays,
} from '../../src/util/handshake-costs';
import { FakeClock } from '../support/fake-clock';
import { FakeLoop } from '../support/fake-loop';

describe('the costs of handshakes', () => {
  function setUp() {
    const clock = new FakeClock();
    const loop = new FakeLoop();
    const costly: string[] = [];
    const costs = new HandshakeCosts(
      clock,
      ({ source, costMs, closed }) => void costly.push(`${source}: ${costMs} ms, ${closed} closed`),
      loop,
    );
    const begin = (source: string) => {
      const socket = {
        ...{ bytesRead: 500, destroyed: false },
        destroy() {
          socket.destroyed = true;
          return this as never;
        },
      };
      return { socket, end: costs.begin(socket, source) };
    };
    return { clock, loop, costs, costly, begin };
  }

  it.each([
    ['of a single one', ['a'], [895 + 5, 900], ['a: 895 ms, 1 closed']],
    ['of several of an address together', ['a', 'a'], [910, 910], ['a: 900 ms, 2 closed']],
    [
      'in equal parts, of several addresses',
      ['a', 'a', 'b'],
      [1215, 1215],
      ['a: 800 ms, 2 closed', 'b: 400 ms, 1 closed'],
    ],
    ['not below the threshold', ['a'], [COSTLY_MS + 4, COSTLY_MS + 4], []],
    ['not of many that are usual', Array<string>(40).fill('a'), [299, 299], []],
    ['not the CPU of other threads while the loop is idle', ['a'], [5000, 20], []],
    ['not the time in which the process gets no CPU', ['a'], [20, 5000], []],
  ])('are those of the turn that reads them: %s', (_, sources, [cpuMs, activeMs], expected) => {
    const { loop, begin, costly } = setUp();
    for (const { socket } of sources.map(begin)) socket.bytesRead++;
    begin('silent');
    loop.runTurn(cpuMs, activeMs);
    expect(costly).toEqual(expected);
    loop.runTurn(1000);
    expect(costly).toEqual(expected);
  });

  it('do not contain the timers of the turn before, or calls after the end of a handshake', () => {
    const { clock, loop, begin, costly } = setUp();
    const { socket, end } = begin('a');
    loop.runTurn();
    loop.spend(500);
    clock.advance(1);
    socket.bytesRead++;
    loop.spend(10);
    end();
    loop.runTurn(500);
    expect(costly).toEqual([]);
  });

  it('are those of a handshake that has just ended, too, which stays open', () => {
    const { loop, begin, costly } = setUp();
    const { socket, end } = begin('a');
    const other = begin('a');
    socket.bytesRead++;
    loop.spend(605);
    end();
    end();
    expect(costly).toEqual(['a: 600 ms, 1 closed']);
    expect(socket.destroyed).toBe(false);
    expect(other.socket.destroyed).toBe(true);
  });

  it('are not those of a handshake that ends well in the turn of others', () => {
    const { loop, begin, costly } = setUp();
    const [good, slow] = [begin('good'), begin('slow')];
    slow.socket.bytesRead++;
    good.socket.bytesRead++;
    loop.spend(905);
    good.end();
    loop.runTurn(2);
    expect(costly).toEqual(['slow: 900 ms, 1 closed']);
    expect(good.socket.destroyed).toBe(false);
  });

  it('are not looked at without handshakes', () => {
    const { clock, loop, begin, costs } = setUp();
    expect(loop.isWatched).toBe(false);
    const { end } = begin('a');
    expect(costs.count('a')).toBe(1);
    loop.runTurn();
    expect(loop.isWatched).toBe(true);
    end();
    expect(costs.count('a')).toBe(0);
    loop.runTurn();
    clock.advance(1);
    expect(loop.isWatched).toBe(false);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('the delays of addresses', () => {
  it('begin short, double, and are bounded', () => {
    const delays = new SourceDelays();
    expect(delays.leftMs('a', 0)).toBeUndefined();
    expect([1, 2, 3, 4, 5].map(() => delays.add('a', 900, 0))).toEqual([
      ...[4500, 9000, 18_000, MAX_DELAY_MS, MAX_DELAY_MS],
    ]);
    expect(delays.add('b', 100, 0)).toBe(500);
  });

  it.each([
    ['wait until it has passed', 499, 1],
    ['are only remembered then', 500, 0],
    ['are remembered for some time', 499 + REMEMBERED_MS, 0],
    ['are forgotten after that', 500 + REMEMBERED_MS, undefined],
  ])('%s', (_, nowMs, expected) => {
    const delays = new SourceDelays();
    delays.add('a', 100, 0);
    expect(delays.leftMs('a', nowMs)).toBe(expected);
    expect(delays.add('a', 100, nowMs)).toBe(expected === undefined ? 500 : 1000);
  });

  it('are remembered of so many addresses', () => {
    const delays = new SourceDelays();
    for (let i = 0; i < MAX_DELAYED_SOURCES; i++) delays.add(`${i}`, 100, 0);
    delays.add('0', 100, 0);
    delays.add('new', 100, 0);
    expect(delays.leftMs('0', 0)).toBe(1000);
    expect(delays.leftMs('1', 0)).toBeUndefined();
    expect(delays.leftMs('2', 0)).toBe(500);
  });

  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['1::3:4:5:6:7:8', '1:0:3:4::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['', ''],
  ])('are those of the network of %s', (address, expected) => {
    expect(sourceOf(address)).toBe(expected);
  });
});
