import type { ViewRequest } from '../live-page/view';
import { DrawnGraph } from './graph-rows';
import { ListedEvents } from './history';

/** What a page keeps of the views of its readers, by their requests: a reader has the same request for each state. */
export class KeptViews {
  private readonly graphs = new WeakMap<ViewRequest, DrawnGraph>();
  private readonly lists = new WeakMap<ViewRequest, ListedEvents>();

  graph(request: ViewRequest): DrawnGraph {
    const kept = this.graphs.get(request) ?? new DrawnGraph(request);
    this.graphs.set(request, kept);
    return kept;
  }

  events(request: ViewRequest): ListedEvents {
    const kept = this.lists.get(request) ?? new ListedEvents(request);
    this.lists.set(request, kept);
    return kept;
  }
}
