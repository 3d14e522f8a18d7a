import type { ServerReport } from 'grpc-xds';
import {
  type ClientSnapshot,
  describeHeldBack,
  type describeTarget,
  type InspectedProcess,
  type ReadRates,
} from 'grpc-xds/internal';
import { toIso } from '../../../../src/util/since';
import { shortName } from '../../../../src/util/text';
import { UPDATE_REJECTED } from '../graph/control-plane-graph';
import { cellText, type Row } from '../live-page/view';
import { failuresIn, flawOfCalls, RETRIED } from '../graph/words';
import { findCallFaults, type CallFault, type FailureColumns } from './call-faults';
import type { ProcessEvent } from './events';
import {
  addressFaults,
  findTrouble,
  rejectedUpdates,
  resourceFaults,
  serverFaults,
  type Fault,
  type Trouble,
} from './faults';

// The cells of the rows of targets.

/** The states of targets, those that need a look first. */
const URGENCY = ['failing', 'degraded', 'waiting'];
const CALM = ['ready', 'idle'];

/** A target that waits for longer is among what is wrong, as in the log. */
const MAX_WAIT_MS = 5000;

/** The number of resources that are held back, shown for each target. */
const MAX_HELD = 8;

type Described = ReturnType<typeof describeTarget>;

/** What is wrong with a target. */
export interface TargetFaults {
  /** Where calls fail although connections are ready. */
  readonly calls: readonly CallFault[];
  /** That none of its calls goes on; empty if some do. */
  readonly own: readonly Fault[];
  /** Where endpoints fail. */
  readonly trouble: readonly Trouble[];
  /** What besides. */
  readonly others: readonly Fault[];
  /** What is wrong although calls go on. */
  readonly flaw: string | undefined;
}

/** Finds what is wrong with a target. @param addresses The served ones, if it is that of the servers. */
export function faultsOfTarget({
  name,
  state,
  reason,
  described: { policies, failingSince, config },
  snapshot,
  addresses,
  failures,
  rates,
  events,
  nowMs,
}: {
  readonly name: string;
  readonly state: string;
  readonly reason: string;
  readonly described: Described;
  readonly snapshot: ClientSnapshot;
  readonly addresses: readonly ServerReport[];
  /** How many of its calls fail. */
  readonly failures: FailureColumns;
  /** Undefined if its calls are not counted by place. */
  readonly rates: ReadRates | undefined;
  readonly events: readonly ProcessEvent[];
  readonly nowMs: number;
}): TargetFaults {
  const trouble = findTrouble(policies, events).map((each) =>
    each.of > 0 ? each : { ...each, since: assignedSince(snapshot.resources, each.cluster) },
  );
  const [first] = trouble.flatMap(({ since }) => since ?? []).sort();
  const waitingMs = snapshot.resources.reduce(
    (least, { waitingSinceMs = Infinity }) => Math.min(least, waitingSinceMs),
    Infinity,
  );
  const own: Fault[] = [];
  if (state === 'failing')
    own.push({ text: `${name} fails: ${reason}`, since: failingSince ?? first });
  if (state === 'waiting' && nowMs - waitingMs >= MAX_WAIT_MS)
    own.push({ text: `${name} waits: ${reason}`, since: toIso(waitingMs) });
  const others = [
    ...addressFaults(addresses),
    ...resourceFaults(snapshot, config !== undefined),
    ...serverFaults(snapshot.servers),
  ];
  // If no connection is ready, that explains the failures.
  const calls =
    state === 'failing' ? [] : findCallFaults(name, failures, rates && { rates, policies });
  const flaw =
    calls.length > 0 ? (flawOfCalls(failures) ?? RETRIED) : flawOf(state, trouble, snapshot);
  return { calls, own, trouble, others, flaw };
}

/** Counts the targets that need a look, such as `1 of 3 targets failing, 1 with update rejected`. */
export function countTargets(rows: readonly Row[]): readonly string[] {
  const words = rows.flatMap(({ state, flaw = '' }) => {
    // Failing calls are worse than failing endpoints.
    if (failuresIn(String(flaw)) !== undefined) return [String(flaw)];
    return [String(state), ...(flaw === '' ? [] : [String(flaw)])];
  });
  const listed = [...URGENCY, ...new Set(words)].filter(
    (word, index, all) =>
      !CALM.includes(word) && words.includes(word) && all.indexOf(word) === index,
  );
  return listed.map((word, index) => {
    const isState = URGENCY.includes(word);
    const of = rows.length === 1 ? ' of 1 target' : ` of ${rows.length} targets`;
    return `${words.filter((each) => each === word).length}${index === 0 ? of : ''} ${isState ? '' : 'with '}${word}`;
  });
}

/** Since when a cluster has the endpoints that it has. */
function assignedSince(
  resources: ClientSnapshot['resources'],
  cluster: string,
): string | undefined {
  const assignment = resources.find(
    ({ typeUrl, name }) => name === cluster && shortName(typeUrl) === 'ClusterLoadAssignment',
  );
  return assignment?.accepted && toIso(assignment.accepted.updatedAtMs);
}

/** Returns what is wrong although the calls of a target go on. */
function flawOf(
  state: string,
  trouble: readonly Trouble[],
  snapshot: ClientSnapshot,
): string | undefined {
  if (state === 'failing' || state === 'waiting') return undefined;
  if (rejectedUpdates(snapshot).some(({ isKept }) => isKept)) return UPDATE_REJECTED;
  if (trouble.some((each) => each.of === 0)) return 'empty locality';
  return serverFaults(snapshot.servers).length > 0 ? 'management server failing' : undefined;
}

/** The cells with what a target uses, and what it does not use yet. */
export function configCells(
  config: Described['config'],
  resolution: ReturnType<InspectedProcess['clients'][number]['resolution']>,
): Omit<Row, 'id'> {
  const held = resolution?.heldBack(MAX_HELD).map((each) => cellText(describeHeldBack(each)));
  return {
    listener: config && cellText(config.listener),
    routeConfig: config && cellText(config.routeConfig),
    clusters: config?.clusters.length,
    heldBack: held?.length === 0 ? undefined : held,
  };
}
