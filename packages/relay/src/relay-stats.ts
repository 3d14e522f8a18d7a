import type {
  ServedResources,
  ClientEvent,
  ClientStream,
  ClientState,
} from 'grpc-xds/control-plane';
import { labelsOfType, RelayInstruments, type ChannelStats } from 'grpc-xds/internal';
import type { Handle } from '../../../src/util/handle';

const { CLIENTS, SUBSCRIPTIONS, RELAYED_SIZE, REJECTIONS } = RelayInstruments;

/** What the metrics of a relay are read from. */
export interface ObservedRelay {
  /** Returns what a client is served; `undefined` if its stream has ended. */
  servedTo(client: ClientStream): ServedResources | undefined;
  clients(): readonly ClientState[];
}

/** Records what happens between a relay and its clients, for the plugins that were added before it started. */
export class RelayStats {
  private readonly gauges: Handle | undefined;

  constructor(
    private readonly observed: ObservedRelay,
    private readonly stats: ChannelStats | undefined,
  ) {
    this.gauges = stats?.observeGauges([CLIENTS, SUBSCRIPTIONS], (report) => {
      const clients = observed.clients();
      report(CLIENTS, clients.length, {});
      const names = new Map<string, number>();
      for (const type of clients.flatMap(({ types }) => [...types.values()])) {
        const { typeUrl, subscribed } = type;
        names.set(typeUrl, (names.get(typeUrl) ?? 0) + subscribed.length);
      }
      for (const [typeUrl, count] of names) report(SUBSCRIPTIONS, count, labelsOfType(typeUrl));
    });
  }

  onEvent(event: ClientEvent): void {
    const { stats } = this;
    if (stats === undefined) return;
    if (event.kind === 'nacked') stats.series(REJECTIONS, labelsOfType(event.typeUrl))?.add(1);
    if (event.kind !== 'sent') return;
    const { typeUrl, names } = event;
    const series = stats.series(RELAYED_SIZE, labelsOfType(typeUrl));
    if (series === undefined || names.length === 0) return;
    const set = this.observed.servedTo(event.client)?.set(typeUrl);
    let bytes = 0;
    for (const name of names) bytes += set?.byName.get(name)?.value.length ?? 0;
    series.add(bytes);
  }

  close(): void {
    this.gauges?.release();
  }
}
