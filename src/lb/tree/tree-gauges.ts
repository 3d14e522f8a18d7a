import { Label, OwnInstruments, OwnLabel } from '../../observe/stats/instruments';
import type { ChannelStats, ReportGauge } from '../../observe/stats/stats-plugin';
import type { Handle } from '../../util/handle';
import type { PolicyState, StateName } from './policy-state';

/** Reports the priorities and endpoints of a channel whenever metrics are collected; `undefined` if no plugin does. */
export function observeTree(stats: ChannelStats, describe: () => PolicyState): Handle | undefined {
  const { PRIORITY_IN_USE, ENDPOINTS } = OwnInstruments;
  return stats.observeGauges([PRIORITY_IN_USE, ENDPOINTS], (report) => {
    const counts: EndpointCounts = new Map();
    visit(describe(), undefined, { counts, report });
    for (const [cluster, states] of counts) {
      for (const [state, count] of states) {
        const labels = { [Label.BACKEND_SERVICE]: cluster, [OwnLabel.ENDPOINT_STATE]: state };
        report(ENDPOINTS, count, labels);
      }
    }
  });
}

/** By cluster and state. */
type EndpointCounts = Map<string, Map<StateName, number>>;

interface Visit {
  readonly counts: EndpointCounts;
  readonly report: ReportGauge;
}

/** @param cluster That of the policies above; `undefined` above those of a cluster, where there are no endpoints. */
function visit(policy: PolicyState, cluster: string | undefined, into: Visit): void {
  const { details, children = [], endpoints = [] } = policy;
  const own = typeof details?.cluster === 'string' ? details.cluster : cluster;
  if (own !== undefined) {
    reportPriority(policy, own, into.report);
    const states = into.counts.get(own) ?? new Map<StateName, number>();
    for (const { state } of endpoints) states.set(state, (states.get(state) ?? 0) + 1);
    if (states.size > 0) into.counts.set(own, states);
  }
  for (const child of children) visit(child, own, into);
}

/** Only children of priority are in use or not. They are created in order: the index among them is the priority. */
function reportPriority(
  { children = [] }: PolicyState,
  cluster: string,
  report: ReportGauge,
): void {
  const index = children.findIndex(({ role }) => role?.inUse === true);
  if (index < 0) return;
  report(OwnInstruments.PRIORITY_IN_USE, index, { [Label.BACKEND_SERVICE]: cluster });
}
