import type { ServerCredentials } from '../../grpc-js';
import { processServers } from '../../observe/admin/process-servers';
import type { ServerReport } from '../../observe/admin/server-report';
import { processStats } from '../../observe/stats/stats-registry';
import type { ServerClient } from '../../runtime/server-client';
import type { Handle } from '../../util/handle';
import { late } from '../../util/late';
import { SERVER_TARGET } from '../../util/report-targets';
import { diagnostics } from '../../xds-client/diagnostics';
import { describeResource } from '../../xds-client/xds-errors';
import type { BoundAddress } from '../connections/bound-address';
import type { LiteralAddress } from '../literal-address';
import { xdsFallbackOf } from '../xds-server-credentials';
import type * as DescribeServer from './describe-server';
import { ServerCounts } from './server-counts';
import { observeAddress, type ObservedAddress } from './server-gauges';

/** Loaded late, because few processes report their state. */
const loadDescribe = late<typeof DescribeServer>(() => require('./describe-server'));

/** What is observed of a binding. */
interface Binding {
  readonly address: LiteralAddress;
  readonly listenerName: string;
  readonly credentials: ServerCredentials;
  readonly client: ServerClient;
}

/** The number of pending resources that are named. */
const MAX_WAITS = 100;

/** Shows an address of a server to reports, metrics and subscribers, until it is released. */
export class ObservedBinding implements Handle {
  readonly counts: ServerCounts;
  /** Why it is not served; `undefined` if it is. */
  private notServing: string | undefined;
  private sinceMs: number;
  private readonly handles: readonly (Handle | undefined)[];

  constructor(
    private readonly binding: Binding,
    private readonly bound: () => BoundAddress,
  ) {
    const { address, listenerName: name, client } = binding;
    const { clock, logger } = client;
    const listener = describeResource({ typeName: 'Listener', name });
    this.notServing = `${listener}: not received yet`;
    this.sinceMs = clock.now();
    const stats = processStats.forChannel(SERVER_TARGET, logger);
    this.counts = new ServerCounts({ address: address.text, stats, clock });
    this.handles = [
      processServers.add({
        report: () => this.report(),
        forgetCalls: () => this.counts.recent.clear(),
      }),
      stats && observeAddress(stats, () => this.observe()),
    ];
  }

  /** @param notServing Why it is not served; `undefined` if it is. */
  onState(notServing: string | undefined): void {
    const { address, listenerName: name, client } = this.binding;
    const isChange = (notServing === undefined) !== (this.notServing === undefined);
    if (isChange) this.sinceMs = client.clock.now();
    this.notServing = notServing;
    const { servingState } = diagnostics;
    if (!servingState.hasSubscribers) return;
    servingState.publish({
      nodeId: client.bootstrap.node.id,
      address: address.text,
      name,
      error: notServing,
      state: notServing === undefined ? 'SERVING' : 'NOT_SERVING',
    });
  }

  release(): void {
    for (const handle of this.handles) handle?.release();
  }

  private observe(): ObservedAddress {
    const { address } = this.binding;
    return {
      address: address.text,
      isServing: this.notServing === undefined,
      generations: this.bound().all,
      calls: this.counts.calls,
    };
  }

  private report(): ServerReport {
    const { address, listenerName, credentials, client } = this.binding;
    const { notServing, sinceMs, counts } = this;
    const bound = this.bound();
    return loadDescribe().describeServer({
      address: address.text,
      nodeId: client.bootstrap.node.id,
      notServing,
      sinceMs,
      counts,
      listenerName,
      listenerVersion: this.listenerVersion(),
      waitingFor: client.client.waitingFor(MAX_WAITS),
      current: bound.inUse,
      generations: bound.all,
      isTlsUnused: xdsFallbackOf(credentials) === undefined,
    });
  }

  /** Returns the version of the Listener that was accepted last. */
  private listenerVersion(): string | undefined {
    const { listenerName, client } = this.binding;
    const { typeUrl } = client.types.listener;
    for (const { name, accepted, ...resource } of client.client.resources()) {
      if (name === listenerName && resource.typeUrl === typeUrl) return accepted?.version;
    }
    return undefined;
  }
}
