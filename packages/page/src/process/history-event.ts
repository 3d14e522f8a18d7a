import { toIso } from '../../../../src/util/since';
import { cellText } from '../live-page/view';
import { type InspectedProcess, type ResourceChange, valuesAfter } from 'grpc-xds/internal';
import { eventId, type HistoryEvent } from './history';
import { compareValues, type ResourceDifference } from './history-difference';

/** Everything about an event that a page shows. */
export interface EventDescription extends Partial<ResourceDifference> {
  readonly id: string;
  readonly at: string;
  readonly kind: string;
  readonly subject: string;
  readonly text: string;
  /** These are of a resource that has changed: where it is from, and its versions. */
  readonly server?: string;
  readonly before?: string | undefined;
  readonly after?: string | undefined;
}

/** Describes an event, with how the resource differs that it is about. */
export function describeEvent(
  event: HistoryEvent,
  client: InspectedProcess['clients'][number],
): EventDescription {
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
