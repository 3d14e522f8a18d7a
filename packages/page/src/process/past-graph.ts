import { buildWholeGraph, type GraphInput } from '../graph/build-mesh-graph';
import type { PartOptions } from '../graph/cluster-part';
import { listChanges } from '../graph/changed-parts';
import { compareGraphs } from '../graph/compare-graphs';
import type { MeshGraph } from '../graph/mesh-graph';
import type { ChangedText } from '../graph/words';
import type { PastState } from './history-state';

/** What a graph is drawn of, as it is or was. */
export type PastInput = GraphInput & Pick<PastState, 'changed'>;

/** Builds a graph; of an earlier time, with what the event has changed. No node of a column is left out. */
export function buildPastGraph(input: PastInput, options: PartOptions): MeshGraph {
  const after = buildWholeGraph(input, options);
  const { changed } = input;
  if (changed === undefined) return after;
  const before = buildWholeGraph({ ...input, ...changed.before }, options);
  return compareGraphs(before, after, changed.describe);
}

/** Lists what an event has changed in the graph; empty if that is not known. */
export function changesOf(
  { changed }: Pick<PastInput, 'changed'>,
  graph: MeshGraph,
): readonly ChangedText[] {
  if (changed === undefined) return [];
  const all = listChanges(graph);
  return all.length > 0 ? all : [{ text: 'nothing in the graph' }];
}
