import type { ClusterLoad } from '../../src/control-plane';
import { formatLoads, hasLoad } from '../../packages/cli/src/output';

const locality = { region: 'eu', zone: 'a', subZone: '', priority: 0, metrics: new Map() };
const none = { issued: 0, succeeded: 0, failed: 0, inProgress: 0 };
const load = (more: Partial<ClusterLoad>): ClusterLoad => ({
  cluster: 'echo',
  serviceName: '',
  intervalMs: 1000,
  localities: [],
  totalDropped: 0,
  droppedByCategory: new Map(),
  ...more,
});

describe('the table of loads', () => {
  it('has a row per locality and one for drops', () => {
    const loads = [
      load({
        localities: [
          { ...locality, issued: 100, succeeded: 90, failed: 3, inProgress: 7 },
          { ...locality, ...none, region: '', zone: '', issued: 1 },
        ],
        totalDropped: 5,
        droppedByCategory: new Map([['throttle', 3]]),
      }),
      load({ cluster: 'other', serviceName: 'other-eds', totalDropped: 2 }),
    ];
    expect(formatLoads(loads)).toEqual([
      'cluster            locality             started  succeeded  failed  running  dropped',
      'echo               eu/a                     100         90       3        7        0',
      'echo               -                          1          0       0        0        0',
      'echo               throttle 3, other 2        0          0       0        0        5',
      'other (other-eds)  -                          0          0       0        0        2',
    ]);
  });

  it('omits the service name that equals the cluster', () => {
    const [, row] = formatLoads([load({ serviceName: 'echo', totalDropped: 1 })]);
    expect(row).toMatch(/^echo +-/);
  });

  it.each<[boolean, Partial<ClusterLoad>]>([
    [false, {}],
    [false, { localities: [{ ...locality, ...none }] }],
    [true, { localities: [{ ...locality, ...none, inProgress: 1 }] }],
    [true, { totalDropped: 1 }],
  ])('is worth showing: %s', (expected, more) => {
    expect(hasLoad(load(more))).toBe(expected);
  });
});
