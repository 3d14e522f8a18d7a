import { rollUpParts } from './cluster-part';
import { groupBy } from './group-by';
import type { GraphEdge, GraphNode, GraphState, MeshGraph } from './mesh-graph';
import { worstFlaw } from './words';

/** A target of a process, with its graph as far as it has one. */
export interface GraphTarget extends Pick<GraphNode, 'name' | 'state' | 'text' | 'flaw'> {
  readonly graph: MeshGraph | undefined;
}

/** The id of the process in its graph. */
const SELF = 'service';

/**
 * Builds the service graph of a process: who calls it, the process, the targets that it calls, and the zones that these are in.
 *
 * @param servers The graph of its servers, as `buildServerGraph` returns it.
 * @param places What is wrong in a zone, by its name.
 */
export function buildProcessGraph(
  self: Pick<GraphNode, 'name' | 'text'>,
  targets: readonly GraphTarget[],
  servers: MeshGraph,
  places: ReadonlyMap<string, string>,
): MeshGraph {
  const flaw = worstFlaw(targets.map((target) => target.flaw));
  const states = targets.map(({ state }) => state);
  const callers = servers.nodes.filter(({ column }) => column === 'client' || column === 'address');
  const ids = new Set(callers.map(({ id }) => id));
  const zones = groupBy(targets.flatMap(zonesOf), ({ zone }) => zone);
  return {
    target: self.name,
    nodes: [
      ...callers,
      {
        id: SELF,
        column: 'service',
        state: rollUpParts(states),
        ...self,
        flaw,
      },
      ...targets.map(({ graph: _graph, ...target }) => {
        return { id: targetId(target), column: 'target', ...target } as const;
      }),
      ...[...zones].map(([zone, uses]) => zoneNode(zone, uses, places.get(zone) ?? '')),
    ],
    edges: [
      ...servers.edges.filter(({ from, to }) => ids.has(from) && ids.has(to)),
      ...callers
        .filter(({ column }) => column === 'address')
        .map(({ id, state, inbound }) => ({
          from: id,
          to: SELF,
          isUsed: state === 'ready',
          text: '',
          inbound,
        })),
      ...targets.map((target) => ({
        from: SELF,
        to: targetId(target),
        isUsed: target.state !== 'failing',
        text: '',
      })),
      ...[...zones].flatMap(([zone, uses]) =>
        uses.map(({ target, isUsed }) => ({
          from: targetId(target),
          to: zoneId(zone),
          isUsed,
          text: '',
        })),
      ),
    ],
  };
}

/** Returns the localities of a zone in the graph of a target, by an edge of the graph of its process. */
export function localitiesOf(
  { to }: Pick<GraphEdge, 'to'>,
  { nodes }: MeshGraph,
): readonly GraphNode[] {
  return nodes.filter(({ column, name }) => column === 'locality' && zoneId(name) === to);
}

/** Returns the id of the node of a target. */
export function targetId({ name }: Pick<GraphTarget, 'name'>): string {
  return `target ${name}`;
}

/** What a target has in a zone. */
interface ZoneUse {
  readonly zone: string;
  readonly target: GraphTarget;
  readonly state: GraphState;
  readonly isUsed: boolean;
}

function zonesOf(target: GraphTarget): readonly ZoneUse[] {
  const { nodes = [], edges = [] } = target.graph ?? {};
  const used = new Set(edges.filter(({ isUsed }) => isUsed).map(({ to }) => to));
  const localities = groupBy(
    nodes.filter(({ column }) => column === 'locality'),
    ({ name }) => name,
  );
  return [...localities].map(([zone, own]) => ({
    zone,
    target,
    state: rollUpParts(own.map(({ state }) => state)),
    isUsed: own.some(({ id }) => used.has(id)),
  }));
}

function zoneNode(zone: string, uses: readonly ZoneUse[], text: string): GraphNode {
  const state = rollUpParts(uses.map((use) => use.state));
  return { id: zoneId(zone), column: 'locality', name: zone, state, text };
}

function zoneId(name: string): string {
  return `zone ${name}`;
}
