import { type XdsConfig, type InspectedProcess, resourcesAt } from 'grpc-xds/internal';
import { shortName, quoteName } from '../../../../src/util/text';
import { err, ok, type Result } from '../../../../src/util/result';
import { toIso } from '../../../../src/util/since';
import type { PastKnowledge } from '../graph/cluster-part';
import type { DescribeChange } from '../graph/compare-graphs';
import { worseState, type GraphNode, type GraphState } from '../graph/mesh-graph';
import { describeChangeOf } from './changed-node';
import { completeSince, findEjections, type ProcessEvent } from './events';
import type { HistoryEvent } from './history';
import { momentAfter, momentBefore, type Moment } from './moment';

/** Resources that are named when they are not kept. */
const MAX_NAMED = 3;

/** What the graph of an earlier time is drawn of. */
export interface PastConfig {
  readonly config: XdsConfig;
  readonly past: PastKnowledge;
}

/** A target at an earlier time, as far as it is known. */
export interface PastState extends PastConfig {
  /** What is not known; empty if nothing is missing. */
  readonly note: string;
  /** What the event has changed; `undefined` if no config was in use before, or its resources are not kept. */
  readonly changed?: {
    readonly before: PastConfig;
    readonly describe: DescribeChange;
  };
}

/** The history that an earlier state is found in. */
interface PastInput {
  readonly inspected: InspectedProcess;
  readonly client: InspectedProcess['clients'][number];
  readonly events: readonly ProcessEvent[];
}

/**
 * Returns the state of a target after an event: with the first config that came into use after it, since the resources that
 * belong together arrive one by one. Beside it is the one that was in use until then.
 *
 * @returns why it is not known, otherwise.
 */
export async function stateAfter(
  event: HistoryEvent,
  input: PastInput,
): Promise<Result<PastState, string>> {
  const { scope: target } = input.client;
  const history = input.client.history();
  const events = input.events.filter((each) => each.target === undefined || each.target === target);
  const completeSinceMs = completeSince(input.events, target);
  const { changes } = history;
  const moment = momentAfter(event, { events, completeSinceMs, changes });
  if (moment.atMs < history.sinceMs) {
    return err(
      `the resources of then are not kept: only those since ${toIso(history.sinceMs)} are`,
    );
  }
  const after = await stateAt(moment, input);
  if (!after.ok) return after;
  const earlier = momentBefore(event, { events, completeSinceMs, changes });
  if (earlier === undefined || earlier.atMs < history.sinceMs) return after;
  const before =
    earlier.hadHappened === moment.hadHappened
      ? ok({ ...after.value, past: pastAt(earlier) })
      : await stateAt(earlier, input);
  // Without all resources, what is not kept would look like what was added.
  if (!before.ok || before.value.note !== '' || after.value.note !== '') return after;
  const describe = describeChangeOf(event, input.client);
  return ok({ ...after.value, changed: { before: before.value, describe } });
}

async function stateAt(
  moment: Moment,
  { inspected, client }: PastInput,
): Promise<Result<PastState, string>> {
  const { scope: target } = client;
  const { resources } = client.snapshot();
  const past = resourcesAt({ history: client.history(), resources, ...moment });
  const known = past.flatMap(({ value, ...rest }) =>
    value === undefined ? [] : [{ ...rest, value }],
  );
  const listener = client.resolution()?.live?.config.listener;
  const config = await inspected.resolve({
    target,
    resources: known,
    listenerName: listener?.name,
  });
  if (past.length === 0) return err('the target had no resources yet');
  const note = describeLost(past.filter(({ value }) => value === undefined));
  if (!config.ok) return err([config.error, note].filter((part) => part !== '').join('; '));
  return ok({ config: config.value, past: pastAt(moment), note });
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

/** Endpoints may fail while their cluster is connected, so their events are kept apart. */
const CLUSTER_EVENTS = new Map<string, GraphState>([
  ['cluster-failed', 'failing'],
  ['cluster-recovered', 'ready'],
]);
const ENDPOINT_EVENTS = new Map<string, GraphState>([
  ['endpoints-failed', 'degraded'],
  ['endpoints-recovered', 'ready'],
  ['endpoints-removed', 'ready'],
]);

/** Returns the state of each cluster after its last event of these kinds. */
function lastOf(
  events: Moment['events'],
  states: ReadonlyMap<string, GraphState>,
): ReadonlyMap<string, Pick<GraphNode, 'state' | 'text'>> {
  return new Map(
    events.flatMap(({ kind, subject, text }) => {
      const state = states.get(kind);
      return state === undefined ? [] : [[subject, { state, text }]];
    }),
  );
}

function pastAt({ events }: Moment): PastKnowledge {
  const ejectionOf = findEjections(events);
  const clusters = lastOf(events, CLUSTER_EVENTS);
  const endpoints = lastOf(events, ENDPOINT_EVENTS);
  return {
    ejected: (cluster, address) => ejectionOf(cluster, address)?.text,
    cluster(name) {
      const [own, below] = [clusters.get(name), endpoints.get(name)];
      if (own === undefined || below === undefined) return own ?? below;
      return worseState(own.state, below.state) === own.state ? own : below;
    },
  };
}
