import { toIso } from '../../../util/since';
import { cellText } from '../../live-page/view';
import type { InspectedProcess } from '../inspect';
import { valuesAfter } from '../resource-history';
import { eventId, type HistoryEvent } from './history';
import { compareValues } from './history-difference';

/** Describes an event, with how the resource differs that it is about. */
export function describeEvent(
  event: HistoryEvent,
  client: InspectedProcess['clients'][number],
): object {
  const { atMs, kind, subject, text, change } = event;
  const described = {
    ...{ id: eventId(event), at: toIso(atMs), kind },
    ...{ subject: cellText(subject), text: cellText(text) },
  };
  if (change === undefined) return described;
  const { resources } = client.snapshot();
  const after = valuesAfter({ changes: client.history().changes, resources }).get(change);
  const { before, typeUrl, serverUri } = change;
  return {
    ...described,
    server: cellText(serverUri),
    ...(before && { before: cellText(before.version) }),
    ...(after && { after: cellText(after.version) }),
    ...compareValues(typeUrl, before, after),
  };
}
