import { LoadStatsRequest } from '../../../src/wire/generated/envoy/service/load_stats/v3/lrs';
import { serverConfig } from '../harness';
import { LrsHarness, zone } from './harness';

const TEN_SECONDS = 10_000;

describe('load reports', () => {
  let lrs: LrsHarness;
  beforeEach(() => {
    lrs = new LrsHarness();
  });
  // Whatever a test is about: with the last hold nothing is left.
  afterEach(() => {
    expect(lrs.logger.errors.filter((text) => text.startsWith('unexpected'))).toEqual([]);
  });

  it('open no stream while no cluster requires them', () => {
    lrs.clock.advance(TEN_SECONDS);
    expect(lrs.streamCount).toBe(0);
  });

  it('begin with the node and the feature of all clusters, and nothing else', () => {
    lrs.acquire();
    expect(lrs.stream.method).toBe(
      '/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats',
    );
    const [first] = lrs.stream.messages.map((bytes) => LoadStatsRequest.decode(bytes));
    expect(first).toMatchObject({ node: { id: 'node-1' }, clusterStats: [] });
    expect(first?.node?.clientFeatures).toContain('envoy.lrs.supports_send_all_clusters');
    lrs.clock.advance(TEN_SECONDS);
    expect(lrs.stream.messages).toHaveLength(1);
  });

  it('go out in the interval of the server, each with what came since the last one', () => {
    const { load } = lrs.acquire();
    const a = load.createLocality(zone('a'));
    lrs.order({ intervalMs: TEN_SECONDS });
    a.start();
    a.start();
    a.end(true);
    lrs.clock.advance(TEN_SECONDS);
    a.end(false);
    a.start();
    lrs.clock.advance(TEN_SECONDS);
    a.end(true);
    lrs.clock.advance(TEN_SECONDS);
    lrs.clock.advance(TEN_SECONDS);
    expect(lrs.reports).toEqual([
      ['c over 10000 ms, dropped 0', '  a: 2 issued, 1 ok, 0 failed, 1 running'],
      ['c over 10000 ms, dropped 0', '  a: 1 issued, 0 ok, 1 failed, 1 running'],
      ['c over 10000 ms, dropped 0', '  a: 0 issued, 1 ok, 0 failed, 0 running'],
      [],
    ]);
  });

  it('have the first cluster of the list of the server, too, and only those in it', () => {
    const [c1, c2, c3] = ['c1', 'c2', 'c3'].map((cluster) => lrs.acquire({ cluster }).load);
    lrs.order({ clusters: ['c1', 'c3'], intervalMs: TEN_SECONDS });
    for (const load of [c1, c2, c3]) load?.countDrop(undefined);
    lrs.clock.advance(TEN_SECONDS);
    expect(lrs.report).toEqual(['c1 over 10000 ms, dropped 1', 'c3 over 10000 ms, dropped 1']);
    lrs.order({ clusters: ['c2'], intervalMs: TEN_SECONDS });
    lrs.clock.advance(TEN_SECONDS);
    expect(lrs.report).toEqual(['c2 over 20000 ms, dropped 1']);
  });

  it('follow a new interval at once, and keep the pace when only the clusters change', () => {
    lrs.acquire();
    lrs.order({ intervalMs: TEN_SECONDS });
    lrs.clock.advance(9000);
    lrs.order({ clusters: ['c'], intervalMs: TEN_SECONDS });
    lrs.clock.advance(1000);
    expect(lrs.reports).toHaveLength(1);
    lrs.order({ intervalMs: 500 });
    lrs.clock.advance(500);
    expect(lrs.reports).toHaveLength(2);
  });

  it('are never sent more often than ten times a second', () => {
    lrs.acquire();
    lrs.order({ intervalMs: 0.001 });
    lrs.clock.advance(1000);
    expect(lrs.reports).toHaveLength(10);
  });

  it('list drops by category, and those without one only in the total', () => {
    const { load } = lrs.acquire({ edsServiceName: 'service' });
    lrs.order({ intervalMs: TEN_SECONDS });
    for (const category of ['lb', 'lb', 'throttle', undefined]) load.countDrop(category);
    lrs.clock.advance(TEN_SECONDS);
    expect(lrs.report).toEqual(['c/service over 10000 ms, dropped 4 (lb 2, throttle 1)']);
  });

  it('add up the counts of all users of a cluster, and separate the services of one cluster', () => {
    const loads = ['s1', 's1', 's2'].map((edsServiceName) => lrs.acquire({ edsServiceName }).load);
    lrs.order({ intervalMs: TEN_SECONDS });
    for (const load of loads) {
      const locality = load.createLocality(zone('a'));
      locality.start();
      locality.end(true);
    }
    lrs.clock.advance(TEN_SECONDS);
    expect(lrs.report).toEqual([
      'c/s1 over 10000 ms, dropped 0',
      '  a: 2 issued, 2 ok, 0 failed, 0 running',
      'c/s2 over 10000 ms, dropped 0',
      '  a: 1 issued, 1 ok, 0 failed, 0 running',
    ]);
  });

  it('go to each server over a stream of its own, and to one server over one', () => {
    lrs.acquire({ cluster: 'one' });
    lrs.acquire({ cluster: 'two' });
    lrs.acquire({ server: serverConfig('other.test:1') });
    expect(lrs.streamCount).toBe(1);
    expect(lrs.network.server('other.test:1').streams).toHaveLength(1);
  });

  it('leave out a call that could not be started', () => {
    const { load } = lrs.acquire();
    lrs.order({ intervalMs: TEN_SECONDS });
    const locality = load.createLocality(zone('a'));
    locality.start();
    locality.withdraw();
    lrs.clock.advance(TEN_SECONDS);
    expect(lrs.report).toEqual([]);
  });

  it('wait with the next one until the last one is out', () => {
    const { load } = lrs.acquire();
    lrs.order({ intervalMs: TEN_SECONDS });
    lrs.server.isReachable = false;
    load.countDrop(undefined);
    lrs.clock.advance(TEN_SECONDS);
    load.countDrop(undefined);
    lrs.clock.advance(3 * TEN_SECONDS);
    expect(lrs.reports).toEqual([['c over 10000 ms, dropped 1']]);
    lrs.server.isReachable = true;
    lrs.stream.confirmSent();
    expect(lrs.report).toEqual(['c over 30000 ms, dropped 1']);
  });
});
