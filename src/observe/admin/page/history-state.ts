import type { XdsConfig } from '../../../dependency-manager/xds-config';
import { err, ok, type Result } from '../../../util/result';
import { quoteName } from '../../../util/text';
import { toIso } from '../../../util/since';
import type { ResourceChange, ResourceHistory } from '../../../xds-client/client-snapshot';
import { findResolution, type InspectedProcess } from '../inspect';
import { resourcesAt } from '../resource-history';
import { shortName } from '../resource-report';
import type { ProcessEvent } from './events';
import type { HistoryEvent } from './history';

/** A config that comes into use within this time of a change is the one that the change is part of. */
const MAX_DELAY_MS = 10_000;
/** Resources that are named when they are not kept. */
const MAX_NAMED = 3;

/** A target at an earlier time, as far as it is known. */
export interface PastState {
  readonly config: XdsConfig;
  /** Returns why an endpoint took no calls; `undefined` if it did as far as is known. */
  readonly ejected: (cluster: string, address: string) => string | undefined;
  /** What is not known; empty if nothing is missing. */
  readonly note: string;
}

/** The history that an earlier state is found in. */
interface PastInput {
  readonly inspected: InspectedProcess;
  readonly client: InspectedProcess['clients'][number];
  readonly events: readonly ProcessEvent[];
}

/**
 * Returns the state of a target after an event: with the first config that came into use after it, since the resources that
 * belong together arrive one by one.
 *
 * @returns why it is not known, otherwise.
 */
export async function stateAfter(
  event: HistoryEvent,
  { inspected, client, events }: PastInput,
): Promise<Result<PastState, string>> {
  const { scope: target } = client;
  const history = client.history();
  const { resources } = client.snapshot();
  const own = events.filter((each) => each.target === undefined || each.target === target);
  const moment = momentOf(event, own, history);
  if (moment.atMs < history.sinceMs) {
    return err(
      `the resources of then are not kept: only those since ${toIso(history.sinceMs)} are`,
    );
  }
  const past = resourcesAt({ history, resources, ...moment });
  const known = past.flatMap(({ value, ...rest }) =>
    value === undefined ? [] : [{ ...rest, value }],
  );
  const listener = findResolution(inspected.resolutions, target)?.live?.config.listener;
  const config = await inspected.resolve({
    target,
    resources: known,
    listenerName: listener?.name,
  });
  const note = describeLost(past.filter(({ value }) => value === undefined));
  if (!config.ok) return err([config.error, note].filter((part) => part !== '').join('; '));
  return ok({ config: config.value, ejected: ejectedAt(own, moment.atMs), note });
}

/** When an event had had its effect. */
interface Moment {
  readonly atMs: number;
  readonly hadHappened: (change: ResourceChange) => boolean;
}

function momentOf(
  { atMs, change }: HistoryEvent,
  events: readonly ProcessEvent[],
  { changes }: ResourceHistory,
): Moment {
  const used = events.find(
    ({ kind, atMs: usedMs }) =>
      (kind === 'config-published' || kind === 'config-failed') &&
      usedMs >= atMs &&
      usedMs <= atMs + MAX_DELAY_MS,
  );
  if (change === undefined) return { atMs, hadHappened: (each) => each.atMs <= atMs };
  if (used !== undefined) return { atMs: used.atMs, hadHappened: (each) => each.atMs <= used.atMs };
  const happened = new Set(changes.slice(0, changes.indexOf(change) + 1));
  return { atMs, hadHappened: (each) => happened.has(each) };
}

function describeLost(
  lost: readonly { readonly typeUrl: string; readonly name: string }[],
): string {
  if (lost.length === 0) return '';
  const named = lost
    .slice(0, MAX_NAMED)
    .map(({ typeUrl, name }) => `${shortName(typeUrl)} ${quoteName(name)}`);
  const more = lost.length > MAX_NAMED ? [`${lost.length - MAX_NAMED} more`] : [];
  return `not kept, and so not shown: ${[...named, ...more].join(', ')}`;
}

/** @param events The oldest first. */
function ejectedAt(events: readonly ProcessEvent[], atMs: number): PastState['ejected'] {
  const ejected = new Map<string, string>();
  const keyOf = (cluster: string, address: string) => JSON.stringify([cluster, address]);
  for (const { kind, atMs: eventMs, endpoint, text } of events) {
    if (endpoint === undefined || eventMs > atMs) continue;
    const key = keyOf(endpoint.cluster, endpoint.address);
    if (kind === 'endpoint-ejected') ejected.set(key, text);
    else ejected.delete(key);
  }
  return (cluster, address) => ejected.get(keyOf(cluster, address));
}
