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
import { FakeLoop } from './fake-loop';

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
        bytesRead: 500,
        destroyed: false,
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
    ['of a single one', ['a'], [900, 905], ['a: 895 ms, 1 closed']],
    ['of several of an address together', ['a', 'a'], [410, 410], ['a: 400 ms, 1 closed']],
    [
      'in equal parts, of several addresses',
      ['a', 'b'],
      [1210, 1210],
      ['a: 600 ms, 1 closed', 'b: 600 ms, 0 closed'],
    ],
    ['not below the threshold', ['a'], [COSTLY_MS + 4, COSTLY_MS + 4], []],
    ['not of many that are usual', Array<string>(40).fill('a'), [299, 299], []],
    ['not the CPU of other threads while the loop is idle', ['a'], [5000, 20], []],
    ['not the time in which the process gets no CPU', ['a'], [20, 5000], []],
  ])(
    'include the turn that reads the handshake: %s',
    (_, addresses, [cpuMs, activeMs], expected) => {
      const { loop, begin, costly } = setUp();
      const handshakes = addresses.map(begin);
      for (const { socket } of handshakes) socket.bytesRead++;
      begin('a');
      loop.runTurn(cpuMs, activeMs);
      expect(costly).toEqual([]);
      loop.runTurn(1000);
      for (const { socket, end } of handshakes) {
        socket.destroyed = true;
        end(false);
        end(false);
      }
      expect(costly).toEqual(expected);
    },
  );

  it('have at most the CPU of 0.1 s more where the process gets none meanwhile', () => {
    const { clock, loop, begin, costly } = setUp();
    const { socket, end } = begin('a');
    for (let turn = 0; turn < 50; turn++) {
      clock.advance(20);
      loop.runTurn(20);
    }
    socket.bytesRead++;
    loop.spend(10, 5000);
    end(false);
    expect(costly).toEqual([]);
  });

  it('add up over several turns', () => {
    const { loop, begin, costly } = setUp();
    const { socket, end } = begin('a');
    for (let turn = 0; turn < 3; turn++) {
      socket.bytesRead++;
      loop.runTurn(105);
    }
    socket.bytesRead++;
    loop.spend(105);
    end(false);
    expect(costly).toEqual(['a: 400 ms, 0 closed']);
  });

  it('do not contain the timers of the turn before', () => {
    const { clock, loop, begin, costly } = setUp();
    const { socket, end } = begin('a');
    loop.runTurn();
    loop.spend(500);
    clock.advance(1);
    socket.bytesRead++;
    loop.spend(10);
    end(false);
    expect(costly).toEqual([]);
  });

  it('are nothing for a handshake that succeeds, whatever calls took in its turns', () => {
    const { loop, begin, costly } = setUp();
    const [good, other] = [begin('a'), begin('a')];
    for (const { socket } of [good, other]) socket.bytesRead++;
    loop.runTurn(3000);
    good.end(true);
    other.end(true);
    expect(costly).toEqual([]);
    expect(other.socket.destroyed).toBe(false);
  });

  it('are not looked at without handshakes', () => {
    const { clock, loop, begin, costs } = setUp();
    expect(loop.isWatched).toBe(false);
    const { end } = begin('a');
    expect(costs.count('a')).toBe(1);
    loop.runTurn();
    expect(loop.isWatched).toBe(true);
    end(true);
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
      4500,
      9000,
      18_000,
      MAX_DELAY_MS,
      MAX_DELAY_MS,
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
  ])('treat addresses of one network as %s', (address, expected) => {
    expect(sourceOf(address)).toBe(expected);
  });
});
