import { buildMeshGraph } from '../../observe/graph/build-mesh-graph';
import { toSvg } from '../../observe/graph/graph-svg';
import { toDot, toMermaid, toTree } from '../../observe/graph/graph-text';
import type { MeshGraph } from '../../observe/graph/mesh-graph';
import { readPolicies } from '../../observe/graph/read-policies';
import { configOfGiven, type GivenResource } from '../../runtime/explain';
import { ok, type Result } from '../../util/result';
import { createClientParts, type ClientSurroundings } from './client-parts';

/** What a graph is written as: a tree for people, a picture, or the language of a program that draws. */
export type GraphFormat = 'tree' | 'svg' | 'dot' | 'mermaid';

const WRITERS: Readonly<Record<GraphFormat, (graph: MeshGraph) => string>> = {
  ...{ tree: toTree, svg: toSvg, dot: toDot, mermaid: toMermaid },
};

/** The graph of a target. */
export interface Drawing {
  readonly graph: MeshGraph;
  write(format: GraphFormat): string;
}

/**
 * Draws a target by given resources.
 *
 * @param policies Those of a channel, as a report of its process has them; undefined if there is none.
 * @returns why the target has no config, otherwise.
 */
export function drawTarget(
  resources: readonly GivenResource[],
  target: string,
  policies: unknown,
  surroundings: ClientSurroundings,
): Result<Drawing, string> {
  const { environment, types } = createClientParts(surroundings);
  const config = configOfGiven(resources, target, { types, limits: environment.limits });
  if (!config.ok) return config;
  const graph = buildMeshGraph({
    ...{ target, config: config.value },
    policies: readPolicies(policies),
  });
  return ok({ graph, write: (format) => WRITERS[format](graph) });
}
