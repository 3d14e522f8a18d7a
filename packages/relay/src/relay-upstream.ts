import {
  type Bootstrap,
  type ClientEvents,
  type InheritedResource,
  type OpenRelayClient,
  type RelayClient,
  type RelayRuntime,
} from 'grpc-xds/internal';
import { type ClientEvent, type LoadReporting, clusterKind } from 'grpc-xds/control-plane';
import { afterRunning } from '../../../src/util/running-time';
import type { Handle } from '../../../src/util/handle';
import { quoteName, sanitizeText } from '../../../src/util/text';
import { ClientRejections } from './client-rejections';
import { ClientSubscriptions } from './client-subscriptions';
import { REPEAT_MS } from './limits';
import { RelayedLoads } from './relayed-loads';
import { UpstreamResources } from './upstream-resources';

/** Constructor options of `RelayUpstream`. */
export interface RelayUpstreamOptions {
  readonly runtime: Pick<RelayRuntime, 'clock' | 'logger'>;
  /** The servers, and the node that they receive. */
  readonly bootstrap: Bootstrap;
  /** What is served while no server can be reached and until one has answered. */
  readonly inherited: Iterable<InheritedResource>;
  readonly openClient: OpenRelayClient;
  readonly events: ClientEvents;
  /** Returns how many names are requested for all nodes. */
  readonly countNames: () => number;
  /** Called when servers request other load reports than before. */
  readonly onReporting: () => void;
}

/** The clients of a relay with one node at the management servers: their resources, rejections and loads. */
export class RelayUpstream {
  readonly resources: UpstreamResources;
  readonly loads: RelayedLoads;
  private readonly subscriptions: ClientSubscriptions;
  private readonly rejections = new ClientRejections();
  private readonly opened: RelayClient;
  private requestedReports: LoadReporting | undefined;
  /** Clusters whose load was left out, of which the first is logged. */
  private hasLeftOut = false;
  /** Rejections that are about to be repeated, by type. */
  private readonly repeating = new Map<string, Handle>();

  constructor(private readonly options: RelayUpstreamOptions) {
    const { clock } = options.runtime;
    const { bootstrap, inherited } = options;
    this.opened = options.openClient({
      bootstrap,
      events: this.createEvents(),
      inherited,
      onLoadsRequested: (server, response) => this.loads.onResponse(server, response),
    });
    const { countNames } = options;
    this.resources = new UpstreamResources(this.client, clock, countNames);
    this.resources.watch(() => this.rejections.onServed(this.resources.resourcesFor()));
    this.subscriptions = new ClientSubscriptions((...change) => this.resources.refer(...change));
    this.loads = this.createLoads();
  }

  get client(): RelayClient['client'] {
    return this.opened.client;
  }

  /** The node that the servers receive. */
  get node(): RelayClient['node'] {
    return this.opened.node;
  }

  /**
   * What the servers request of clients that report loads; `undefined` before they have, and while there is no cluster: after the
   * start of the relay, clients keep the loads of clusters that it does not know yet.
   */
  get reporting(): LoadReporting | undefined {
    const clusters = this.resources.resourcesFor().set(clusterKind.typeUrl);
    return clusters === undefined || clusters.byName.size === 0 ? undefined : this.requestedReports;
  }

  /** Handles an event of the stream of a client. */
  onEvent(event: ClientEvent): void {
    this.subscriptions.onEvent(event);
    const rejection = this.rejections.onEvent(event);
    if (event.kind !== 'nacked' || rejection === undefined) return;
    this.options.runtime.logger.error(() => sanitizeText(`relay: ${rejection}`), {
      event: 'resource-nacked',
      typeUrl: event.typeUrl,
      error: rejection,
    });
    this.client.reject(event.typeUrl, rejection);
  }

  /** Ends the acceptance of load reports, and reports those of clients, which takes up to a second. */
  async finishLoads(): Promise<void> {
    this.loads.end();
    await this.opened.endLoads();
  }

  /** Ends at once. */
  close(): void {
    this.loads.end();
    for (const timer of this.repeating.values()) timer.release();
    this.resources.close();
    this.opened.close();
  }

  private createEvents(): ClientEvents {
    const { events } = this.options;
    return {
      onServerFailure: (...failure) => events.onServerFailure(...failure),
      onResponse: (...response) => {
        events.onResponse(...response);
        this.repeatRejection(response[1]);
      },
    };
  }

  /**
   * Rejects a response as clients have rejected the one before, if it changes nothing, because they do not receive it. A server that
   * answers the rejection with the same response waits for the next one.
   */
  private repeatRejection(typeUrl: string): void {
    const { rejections, resources, repeating } = this;
    if (rejections.textOf(typeUrl) === undefined || repeating.has(typeUrl)) return;
    const versionOf = () => resources.resourcesFor().set(typeUrl)?.version;
    const version = versionOf();
    const repeat = () => {
      repeating.delete(typeUrl);
      const text = rejections.textOf(typeUrl);
      if (text === undefined || resources.isOutdated || versionOf() !== version) return;
      this.client.reject(typeUrl, text);
    };
    repeating.set(typeUrl, afterRunning(this.options.runtime.clock, repeat, REPEAT_MS));
  }

  private createLoads(): RelayedLoads {
    const { bootstrap } = this.options;
    const [defaultServer] = bootstrap.servers;
    if (defaultServer === undefined) throw new Error('the bootstrap has no server');
    const { typeUrl } = clusterKind;
    return new RelayedLoads({
      reporter: this.opened.reporter,
      defaultServer,
      serverOf: (cluster) => {
        if (!this.resources.has(typeUrl, cluster)) return undefined;
        return this.resources.serverOf(typeUrl, cluster) ?? defaultServer;
      },
      onRequested: (reporting) => {
        this.requestedReports = reporting;
        this.options.onReporting();
      },
      onLeftOut: (cluster) => this.onLeftOut(cluster),
    });
  }

  private onLeftOut(cluster: string): void {
    if (this.hasLeftOut) return;
    this.hasLeftOut = true;
    this.options.runtime.logger.error(() =>
      sanitizeText(
        `relay: load reports: cluster ${quoteName(cluster)}: left out: no client subscribes to it, or it has too many localities`,
      ),
    );
  }
}
