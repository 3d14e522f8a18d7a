import { ServerInstruments, ServerLabel } from '../../observe/stats/instruments';
import type { ChannelStats } from '../../observe/stats/stats-plugin';
import type { Handle } from '../../util/handle';
import type { Generation } from '../connections/generation';
import type { CallCounts } from './server-counts';

/** What gauges read of an address. */
export interface ObservedAddress {
  readonly address: string;
  readonly isServing: boolean;
  readonly generations: Iterable<Pick<Generation, 'openConnections'>>;
  readonly calls: CallCounts;
}

const { SERVING, CONNECTIONS, CALLS } = ServerInstruments;

/** Reports the gauges of an address when metrics are collected, until the handle is released. */
export function observeAddress(
  stats: ChannelStats,
  observed: () => ObservedAddress,
): Handle | undefined {
  return stats.observeGauges([SERVING, CONNECTIONS, CALLS], (report) => {
    const { address, isServing, generations, calls } = observed();
    const labels = { [ServerLabel.ADDRESS]: address };
    report(SERVING, isServing ? 1 : 0, labels);
    report(CALLS, calls.started - calls.ended, labels);
    let [open, draining] = [0, 0];
    for (const { openConnections } of generations) {
      for (const { accepts } of openConnections)
        if (accepts) open++;
        else draining++;
    }
    const { CONNECTION_STATE } = ServerLabel;
    report(CONNECTIONS, open, { ...labels, [CONNECTION_STATE]: 'open' });
    report(CONNECTIONS, draining, { ...labels, [CONNECTION_STATE]: 'draining' });
  });
}
