import {
  graphOptions,
  graphRows,
  buildWholeGraph,
  joinGraphs,
  type GraphNode,
  type MeshGraph,
  type View,
  type ViewRequest,
} from 'grpc-xds-page/internal';
import {
  createConfigBuilder,
  type ClientSurroundings,
  type GivenResource,
  type XdsConfig,
} from 'grpc-xds/internal';
import type { Result } from '../../../../src/util/result';

/** The Listeners that are drawn; of more, one node stands for the others. */
const MAX_LISTENERS = 20;

/** The graph of the resources of a management server: where the calls of clients go with them. States are those of the resources. */
export class ServedGraph {
  private readonly buildConfig;
  private resources: readonly GivenResource[] = [];
  /** Those with the resources, by the names of their Listeners. */
  private readonly configs = new Map<string, Result<XdsConfig, string>>();

  constructor(surroundings: ClientSurroundings) {
    this.buildConfig = createConfigBuilder(surroundings);
  }

  /**
   * Draws Listeners as targets.
   *
   * @param resources The same array as before while they are the same.
   */
  view(
    resources: readonly GivenResource[],
    listeners: readonly string[],
    request: ViewRequest,
  ): View {
    if (resources !== this.resources) this.configs.clear();
    this.resources = resources;
    const graphs = listeners
      .slice(0, MAX_LISTENERS)
      .map((listener) => this.graphOf(listener, request));
    const rest = listeners.length - graphs.length;
    if (rest > 0) graphs.push(restOfListeners(rest));
    return graphRows(joinGraphs('', graphs), request);
  }

  private graphOf(listener: string, request: ViewRequest): MeshGraph {
    const target = `xds:///${listener}`;
    const config = this.configOf(listener, target);
    if (config.ok) {
      const input = { target, config: config.value, policies: undefined };
      return buildWholeGraph(input, graphOptions(request));
    }
    return single({ id: `target ${target}`, name: target, state: 'failing', text: config.error });
  }

  private configOf(listener: string, target: string): Result<XdsConfig, string> {
    const known = this.configs.get(listener);
    if (known !== undefined) return known;
    const config = this.buildConfig(this.resources, target);
    this.configs.set(listener, config);
    return config;
  }
}

function restOfListeners(count: number): MeshGraph {
  const text = `only the first ${MAX_LISTENERS} Listeners are drawn`;
  return single({ id: 'other targets', name: `${count} more`, state: 'unused', text });
}

/** A graph of one target that leads nowhere. */
function single(target: Omit<GraphNode, 'column'>): MeshGraph {
  return { target: target.name, nodes: [{ ...target, column: 'target' }], edges: [] };
}
