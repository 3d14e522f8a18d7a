import { ProcessRates } from '../../../src/observe/rates/process-rates';
import { ReadRates } from '../../../src/observe/rates/read-rates';
import type { RouteKey } from '../../../src/observe/rates/route-rates';
import type { RatedCluster, TargetRates } from '../../../src/observe/rates/target-rates';
import { FakeClock } from '../../support/fake-clock';

const OK = 0;

interface NamedRoute {
  readonly name: string;
}

describe('the rates of a process', () => {
  let clock: FakeClock;
  let rates: ProcessRates;
  beforeEach(() => {
    clock = new FakeClock();
    rates = new ProcessRates();
  });

  /** What is counted of a target from now on. */
  function count(target = 'xds:///a'): TargetRates {
    rates.acquire(clock);
    const found = rates.channel(target).current;
    if (found === undefined) throw new Error('nothing is counted');
    return found;
  }

  const read = (of: TargetRates) => new ReadRates(of, clock.monotonicMs(), 0);
  const keyOf = (route: NamedRoute, routes: readonly NamedRoute[] = [route]): RouteKey => ({
    route,
    routes,
    label: () => route.name,
  });
  function callRoute(target: TargetRates, key: RouteKey, cluster: string, times = 1): void {
    for (let index = 0; index < times; index++) {
      const call = target.startCall(clock);
      call.onRouted(key, cluster);
      call.end(OK);
    }
  }

  it('counts from the first use to the last release, and then forgets', () => {
    const channel = rates.channel('xds:///a');
    expect(channel.current).toBeUndefined();
    const [first, second] = [rates.acquire(clock), rates.acquire(clock)];
    const { current } = channel;
    expect(current).toBe(rates.channel('xds:///a').current);
    expect(rates.counting?.get('xds:///a')).toBe(current);
    expect(rates.counting?.get('xds:///b')).toBeUndefined();
    first.release();
    first.release();
    expect(channel.current).toBe(current);
    second.release();
    expect(channel.current).toBeUndefined();
    rates.acquire(clock);
    expect(channel.current).not.toBe(current);
  });

  it('counts a thousand targets', () => {
    rates.acquire(clock);
    const found = Array.from({ length: 1001 }, (_, i) => rates.channel(`xds:///${i}`).current);
    expect(found.filter((each) => each === undefined)).toHaveLength(1);
    expect(rates.channel('xds:///0').current).toBe(found[0]);
  });

  it('goes on with the rates of a route that changes, and with other shares', () => {
    const target = count();
    const [before, after] = [{ name: 'pay' }, { name: 'pay' }];
    callRoute(target, keyOf(before), 'a', 3);
    callRoute(target, keyOf(before), 'b', 1);
    expect(read(target).shareOfSplit(keyOf(before), 'b')).toEqual({ got: 0.25, calls: 1, of: 4 });
    clock.advance(1000);
    expect(read(target).ofRoute(keyOf(after))).toMatchObject({ counts: 'calls', rate: 4 });
    expect(read(target).shareOfSplit(keyOf(after), 'b')).toBeUndefined();
    callRoute(target, keyOf(after), 'b');
    expect(read(target).shareOfSplit(keyOf(after), 'b')).toEqual({ got: 1, calls: 1, of: 1 });
    expect(read(target).ofSplit(keyOf(after), 'a')).toMatchObject({ rate: 3 });
  });

  it('tells routes of one name apart while both are there', () => {
    const target = count();
    const routes = [{ name: 'pay' }, { name: 'pay' }] as const;
    callRoute(target, keyOf(routes[0], routes), 'a', 3);
    callRoute(target, keyOf(routes[1], routes), 'a', 1);
    clock.advance(1000);
    const rateOf = (route: NamedRoute) => read(target).ofRoute(keyOf(route, routes))?.rate;
    expect(routes.map(rateOf)).toEqual([3, 1]);
  });

  it('moves a call that a filter sends elsewhere', () => {
    const target = count();
    const key = keyOf({ name: 'pay' });
    const call = target.startCall(clock);
    call.onRouted(key, 'a');
    call.onMoved('b');
    expect(read(target).shareOfSplit(key, 'a')).toEqual({ got: 0, calls: 0, of: 1 });
    call.end(OK);
    expect(read(target).ofSplit(key, 'a')).toMatchObject({ inFlight: 0 });
    expect(read(target).shareOfSplit(key, 'b')).toEqual({ got: 1, calls: 1, of: 1 });
  });

  it('counts a call without a route for its target alone', () => {
    const target = count();
    target.startCall(clock).end(14);
    clock.advance(1000);
    expect(read(target).ofTarget()).toMatchObject({ rate: 1, errors: ['UNAVAILABLE 1'] });
  });

  it('counts a thousand routes, and forgets those that are no more before it refuses one', () => {
    const target = count();
    const create = () => Array.from({ length: 1001 }, (_, i) => ({ name: `${i}` }));
    const [before, after] = [create(), create().map(({ name }) => ({ name: `new ${name}` }))];
    for (const route of before) callRoute(target, keyOf(route, before), 'a');
    const isCounted = (routes: readonly NamedRoute[]) => (route: NamedRoute) =>
      read(target).ofRoute(keyOf(route, routes)) !== undefined;
    expect(before.filter(isCounted(before))).toHaveLength(1000);
    for (const route of after) callRoute(target, keyOf(route, after), 'a');
    expect(after.filter(isCounted(after))).toHaveLength(1000);
  });

  it('counts a hundred clusters of a route', () => {
    const target = count();
    const key = keyOf({ name: 'pay' });
    for (let index = 0; index < 101; index++) callRoute(target, key, `${index}`);
    expect(read(target).ofSplit(key, '99')).toBeDefined();
    expect(read(target).ofSplit(key, '100')).toBeUndefined();
  });

  it('adds up a cluster that is used in two ways, until both have ended', () => {
    const target = count();
    const endpoints = [{}, {}] as const;
    const clusterOf = (endpoint: object): RatedCluster => ({
      cluster: 'c',
      find: (address) => (address === '10.0.0.1:80' ? endpoint : undefined),
    });
    const clusters = endpoints.map(clusterOf);
    clusters.forEach((cluster, index) => {
      target.attemptsOf(cluster).start(clock.monotonicMs());
      target.attemptsOn(endpoints[index] ?? {}).start(clock.monotonicMs());
    });
    expect(read(target).ofClusters(['c'])).toMatchObject({ counts: 'attempts', inFlight: 2 });
    expect(read(target).ofEndpoints('c', ['10.0.0.1:80', '10.0.0.2:80'])?.inFlight).toBe(2);
    expect(read(target).ofEndpoints('c', ['10.0.0.2:80'])).toBeUndefined();
    const [first, second] = clusters;
    if (first === undefined || second === undefined) throw new Error('there are two');
    target.removeCluster(first);
    expect(read(target).ofClusters(['c'])?.inFlight).toBe(1);
    target.removeCluster(second);
    expect(read(target).ofClusters(['c'])).toBeUndefined();
  });
});
