import {
  compareSubjects,
  type Comparison,
  type Fact,
  type Subject,
} from '../../util/compare-subjects';
import { ratesOf, type TopRates, type TopSample } from '../top/sample';
import type { TopRow } from '../top/top-row';
import type { ProcessState, TargetState } from './process-state';

/** What a process says at one moment, and what it said before. */
export interface ProcessReading {
  readonly state: ProcessState;
  readonly sample: TopSample;
  /** For rates; `undefined` after the first look. */
  readonly before: TopSample | undefined;
}

/** The calls of a target of a process. */
export interface TargetCalls extends TopRates {
  readonly row: TopRow;
}

/** Calls fail in this share of those that ended between two looks, or more. */
const FAILING_SHARE = 0.05;

/** Returns the calls of a target between two looks; `undefined` if they are not known. */
export function callsOf(
  { sample, before }: ProcessReading,
  target: string,
): TargetCalls | undefined {
  const row = sample.rows.find(
    (each) => each.target === target && each.cluster === '' && each.server === '',
  );
  const rates = row && ratesOf(row, sample, before);
  return row && rates && { row, ...rates };
}

/** The processes, with what is compared of them. */
export interface ComparedProcesses {
  readonly subjects: readonly Subject[];
  readonly comparison: Comparison;
}

/** Compares processes: the state, config, servers and resources of each target, and whether its calls fail. */
export function compareProcesses(readings: readonly ProcessReading[]): ComparedProcesses {
  const targets = new Map<string, Set<string>>();
  for (const { target, resources } of readings.flatMap(({ state }) => state.targets)) {
    const names = targets.get(target) ?? new Set();
    for (const name of resources.keys()) names.add(name);
    targets.set(target, names);
  }
  const subjects = readings.map((reading): Subject => {
    const facts = new Map(reading.state.facts);
    const known = new Map(reading.state.targets.map((each) => [each.target, each]));
    // Clients of a relay have no targets.
    if (known.size > 0) {
      for (const [target, names] of targets) {
        const prefix = targets.size === 1 ? '' : `${target} `;
        addTarget(facts, { target, prefix, names, reading, state: known.get(target) });
      }
    }
    return { name: reading.state.name, facts };
  });
  return { subjects, comparison: compareSubjects(subjects) };
}

interface ComparedTarget {
  readonly target: string;
  /** Of the names of its facts. */
  readonly prefix: string;
  /** The resources that any process has. */
  readonly names: Iterable<string>;
  readonly reading: ProcessReading;
  /** `undefined` if the process does not use the target. */
  readonly state: TargetState | undefined;
}

function addTarget(
  facts: Map<string, Fact>,
  { target, prefix, names, reading, state }: ComparedTarget,
): void {
  const add = (name: string, text: string) => facts.set(`${prefix}${name}`, { text });
  if (state === undefined) {
    facts.set(target, { text: 'not used' });
    return;
  }
  facts.set(target, { text: 'used' });
  // The admin services have neither a state of the target, nor its config.
  if (state.state !== '') add('state', state.state);
  if (state.inUse !== '') add('in use', state.inUse);
  if (state.servers.length > 0) add('servers', state.servers.join(', '));
  for (const name of names) {
    facts.set(`${prefix}${name}`, state.resources.get(name) ?? { text: 'none', key: 'none' });
  }
  const calls = callsOf(reading, target);
  if (calls === undefined || calls.callsPerSecond === 0) return;
  const isFailing = calls.failedPerSecond >= FAILING_SHARE * calls.callsPerSecond;
  add('calls', isFailing ? 'fail' : 'succeed');
}
