import type { PolicyState } from 'grpc-xds';
import type { InspectedProcess, ResourceChange } from 'grpc-xds/internal';
import { LiveGraph } from '../graph/build-mesh-graph';
import { sharePolicies } from '../graph/endpoint-states';
import { getOrMake } from '../graph/group-by';
import type { ViewRequest } from '../live-page/view';
import { madeOnce } from '../../../../src/util/made-once';
import { describeFields } from './changed-node';
import { DrawnGraph } from './graph-rows';
import { ListedEvents } from './history';
import { InboundRates } from './inbound-rates';

/** One node for the endpoints of each locality. */
const SUMMARY = { maxEndpoints: 0, opened: new Set<string>() };

/** What a page keeps of the views of its readers, by their requests: a reader has the same request for each state. */
export class KeptViews {
  readonly inbound = new InboundRates();
  readonly graph = madeOnce((request: ViewRequest) => new DrawnGraph(request));
  readonly events = madeOnce((request: ViewRequest) => new ListedEvents(request));
  private readonly fields = new WeakMap<object, string>();
  private readonly policies = new WeakMap<object, PolicyState>();
  private readonly graphs = madeOnce((_request: ViewRequest) => new Map<string, LiveGraph>());

  /** Returns the graph of one of several targets that a request shows together. */
  graphOf(request: ViewRequest, target: string): LiveGraph {
    return getOrMake(this.graphs(request), target, () => new LiveGraph(SUMMARY));
  }

  /** Lists the fields that an update changed. Computed once: it usually stays the last change for a long time. */
  fieldsOf(change: ResourceChange, client: InspectedProcess['clients'][number]): string {
    const known = this.fields.get(change);
    if (known !== undefined) return known;
    const described = describeFields(change, client);
    this.fields.set(change, described);
    return described;
  }

  /** Returns the latest policies of a channel; what has not changed since the last call is the same objects. */
  policiesOf(channel: object, latest: PolicyState | undefined): PolicyState | undefined {
    const shared = latest && sharePolicies(this.policies.get(channel), latest);
    if (shared !== undefined) this.policies.set(channel, shared);
    return shared;
  }
}
