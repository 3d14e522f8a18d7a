import { LiveGraph } from '../graph/build-mesh-graph';
import type { ViewRequest } from '../live-page/view';
import { DrawnGraph } from './graph-rows';
import { ListedEvents } from './history';
import { InboundRates } from './inbound-rates';

/** One node for the endpoints of each locality. */
const SUMMARY = { maxEndpoints: 0, opened: new Set<string>() };

/** What a page keeps of the views of its readers, by their requests: a reader has the same request for each state. */
export class KeptViews {
  readonly inbound = new InboundRates();
  private readonly graphs = new WeakMap<ViewRequest, DrawnGraph>();
  private readonly targets = new WeakMap<ViewRequest, Map<string, LiveGraph>>();
  private readonly lists = new WeakMap<ViewRequest, ListedEvents>();

  graph(request: ViewRequest): DrawnGraph {
    const kept = this.graphs.get(request) ?? new DrawnGraph(request);
    this.graphs.set(request, kept);
    return kept;
  }

  /** Returns the graph of one of several targets that a request shows together. */
  graphOf(request: ViewRequest, target: string): LiveGraph {
    const own = this.targets.get(request) ?? new Map<string, LiveGraph>();
    this.targets.set(request, own);
    const kept = own.get(target) ?? new LiveGraph(SUMMARY);
    own.set(target, kept);
    return kept;
  }

  events(request: ViewRequest): ListedEvents {
    const kept = this.lists.get(request) ?? new ListedEvents(request);
    this.lists.set(request, kept);
    return kept;
  }
}
