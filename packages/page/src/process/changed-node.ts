import type { DescribeChange } from '../graph/compare-graphs';
import { firstOf } from '../graph/words';
import { cellText } from '../live-page/view';
import { type InspectedProcess, type ResourceChange, diffValues } from 'grpc-xds/internal';
import { cutText, shortName } from '../../../../src/util/text';
import type { HistoryEvent } from './history';
import { valueAfter } from './history-event';

/** The fields that the text of a node names. */
const MAX_NAMED = 3;
/** The number of characters shown of a value. */
const MAX_VALUE = 60;
/** The encoded size of two values together up to which their fields are compared. */
const MAX_COMPARED_BYTES = 64 * 1024;

/**
 * Describes which fields an event has changed of the resource of a node: of the Cluster for its cluster, of the Listener and the
 * RouteConfiguration for the target.
 */
export function describeChangeOf(
  event: HistoryEvent,
  client: InspectedProcess['clients'][number],
): DescribeChange {
  const { change } = event;
  const type = change?.kind === 'accepted' ? shortName(change.typeUrl) : '';
  const isOfTarget = type === 'Listener' || type === 'RouteConfiguration';
  if (change === undefined || (type !== 'Cluster' && !isOfTarget)) return () => '';
  const text = changedFields(change, client);
  return ({ column, name }) => {
    if (isOfTarget) return column === 'target' ? text : '';
    return column === 'cluster' && name === change.name ? text : '';
  };
}

/** Lists the fields that an update changed, with their values; empty if the resource is new, too large or no longer kept. */
export function describeFields(
  change: ResourceChange,
  client: InspectedProcess['clients'][number],
): string {
  return joinDifferences(change, client, ({ path, before, after }) => {
    const [old, next] = [before, after].map((value) =>
      value === undefined ? 'none' : cutText(JSON.stringify(value), MAX_VALUE),
    );
    return `${path} ${old} -> ${next}`;
  });
}

function changedFields(
  change: ResourceChange,
  client: InspectedProcess['clients'][number],
): string {
  return joinDifferences(change, client, ({ kind, path }) => `${kind} ${path}`);
}

function joinDifferences(
  change: ResourceChange,
  client: InspectedProcess['clients'][number],
  describe: (difference: ReturnType<typeof diffValues>[number]) => string,
): string {
  const after = valueAfter(change, client)?.bytes;
  const before = change.before?.bytes;
  if (before === undefined || after === undefined) return '';
  if (before.length + after.length > MAX_COMPARED_BYTES) return '';
  const named = diffValues(change.typeUrl, before, after).map(describe);
  return cellText(firstOf(named, MAX_NAMED).join(', '));
}
