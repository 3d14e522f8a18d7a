import { toIso } from '../../../../src/util/since';
import { cellText } from '../live-page/view';
import { type InspectedProcess, type ResourceChange, valuesAfter } from 'grpc-xds/internal';
import { eventId, type HistoryEvent } from './history';
import { compareValues } from './history-difference';

/** Describes an event; that of a resource with where it is from, its versions, and how the resource differs. */
export function describeEvent(
  event: HistoryEvent,
  client: InspectedProcess['clients'][number],
): object {
  const { atMs, kind, subject, text, change } = event;
  const described = {
    id: eventId(event),
    at: toIso(atMs),
    kind,
    subject: cellText(subject),
    text: cellText(text),
  };
  if (change === undefined) return described;
  const after = valueAfter(change, client);
  const { before, typeUrl, serverUri } = change;
  return {
    ...described,
    server: cellText(serverUri),
    before: before && cellText(before.version),
    after: after && cellText(after.version),
    ...compareValues(typeUrl, before, after),
  };
}

/** Returns the value of a resource after a change of it; `undefined` if there was none, or it is not known. */
export function valueAfter(
  change: ResourceChange,
  client: InspectedProcess['clients'][number],
): ResourceChange['before'] {
  const { resources } = client.snapshot();
  return valuesAfter({ changes: client.history().changes, resources }).get(change);
}
