import {
  buildMeshGraph,
  DEFAULT_GRAPH_OPTIONS,
  type GraphOptions,
  compareGraphs,
  type DescribeChange,
  cutColumns,
  toSvg,
  toTree,
  type MeshGraph,
  readPolicies,
  readProcess,
} from 'grpc-xds-page/internal';
import {
  createConfigBuilder,
  type ClientSurroundings,
  type GivenResource,
} from 'grpc-xds/internal';
import { err, ok, type Result } from '../../../../src/util/result';

/** What a graph is written as: a tree of lines, or a picture. */
export type GraphFormat = 'tree' | 'svg';

const WRITERS = { tree: toTree, svg: toSvg };

/** The graph of a target. */
export interface Drawing {
  readonly graph: MeshGraph;
  write(format: GraphFormat): string;
}

/** The input of a graph. */
export interface DrawnSource {
  readonly resources: readonly GivenResource[];
  /** Those of a channel, as a report of its process has them; undefined if there is none. */
  readonly policies: unknown;
  /** The whole report, for what the process has its resources from. Default: that is not drawn. */
  readonly report?: unknown;
}

/**
 * Draws a target by given resources.
 *
 * @returns why the target has no config, otherwise.
 */
export function drawTarget(
  source: DrawnSource,
  target: string,
  surroundings: ClientSurroundings,
): Result<Drawing, string> {
  const graph = graphOf(source, target, DEFAULT_GRAPH_OPTIONS, surroundings);
  return graph.ok ? ok(drawingOf(graph.value)) : graph;
}

/** Nothing is cut before two graphs are compared: a change may be in what would not be left. */
const WHOLE = { maxNodes: Infinity, maxEndpoints: Infinity, opened: new Set<string>() };

/**
 * Draws how a target differs in two sources.
 *
 * @returns which of them has no config, and why, otherwise.
 */
export function drawDifference(
  [before, after]: readonly [DrawnSource, DrawnSource],
  target: string,
  describe: DescribeChange,
  surroundings: ClientSurroundings,
): Result<Drawing, { readonly side: 'before' | 'after'; readonly text: string }> {
  // The states of connections differ from those that only the resources of the other one show.
  const isConnected = before.policies !== undefined && after.policies !== undefined;
  const read = ({ resources, policies }: DrawnSource) =>
    graphOf(
      { resources, policies: isConnected ? policies : undefined },
      target,
      WHOLE,
      surroundings,
    );
  const earlier = read(before);
  if (!earlier.ok) return err({ side: 'before', text: earlier.error });
  const later = read(after);
  if (!later.ok) return err({ side: 'after', text: later.error });
  const compared = compareGraphs(earlier.value, later.value, describe);
  return ok(drawingOf(cutColumns(compared, () => DEFAULT_GRAPH_OPTIONS.maxNodes)));
}

function graphOf(
  { resources, policies, report }: DrawnSource,
  target: string,
  options: GraphOptions,
  surroundings: ClientSurroundings,
): Result<MeshGraph, string> {
  const config = createConfigBuilder(surroundings)(resources, target);
  if (!config.ok) return config;
  const input = {
    target,
    config: config.value,
    policies: readPolicies(policies),
    process: readProcess(report, target),
  };
  return ok(buildMeshGraph(input, options));
}

function drawingOf(graph: MeshGraph): Drawing {
  return { graph, write: (format) => WRITERS[format](graph) };
}
