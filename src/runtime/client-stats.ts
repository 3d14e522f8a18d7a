import type { ServerConfig } from '../bootstrap/bootstrap';
import { ClientInstruments, ClientLabel, OwnInstruments } from '../observe/stats/instruments';
import type { ChannelStats, LabelValues, ReportGauge } from '../observe/stats/stats-plugin';
import type { StatsRegistry } from '../observe/stats/stats-registry';
import { createHandle, type Handle } from '../util/handle';
import type { Logger } from '../util/logger';
import type { ClientEvents, ResourceSnapshot, ResourceStatus } from '../xds-client/client-snapshot';
import type { ParseResourceName } from '../xds-client/resource-name';
import type { XdsClient } from '../xds-client/xds-client';

const TYPE_PREFIX = 'type.googleapis.com/';
/** The label of the authority of names in the old style (gRFC A78). */
const NO_AUTHORITY = '#old';

/** The labels of each state, by whether an older value stays in use (gRFCs A78, A88). */
const CACHE_STATES: Readonly<
  Record<ResourceStatus, { readonly cached: string; readonly missing: string }>
> = {
  REQUESTED: { cached: 'requested', missing: 'requested' },
  ACKED: { cached: 'acked', missing: 'acked' },
  DOES_NOT_EXIST: { cached: 'does_not_exist_but_cached', missing: 'does_not_exist' },
  NACKED: { cached: 'nacked_but_cached', missing: 'nacked' },
  RECEIVED_ERROR: { cached: 'received_error_but_cached', missing: 'received_error' },
  TIMEOUT: { cached: 'timeout', missing: 'timeout' },
};

/** The target of a client, and how it reads the names of resources. */
interface ClientNames {
  readonly target: string;
  readonly parseName: ParseResourceName;
}

/** The observed part of a client. */
export type StatsSource = Pick<XdsClient, 'resources' | 'serverStates' | 'fallbacks'>;

/** A client that plugins observe. */
interface ObservedClient {
  readonly client: StatsSource;
  readonly stats: ChannelStats;
}

/**
 * Records what the clients of one bootstrap experience, for the plugins that observe their targets (gRFC A78). The
 * clients share streams: what happens on one counts for every target that uses its server.
 */
export class ClientStats implements ClientEvents {
  private readonly observed = new Set<ObservedClient>();

  /**
   * @param logger Receives the exceptions of plugins.
   * @param others Receives every event as well. Default: nothing does.
   */
  constructor(
    private readonly registry: StatsRegistry,
    private readonly logger: Logger,
    private readonly others?: ClientEvents,
  ) {}

  /**
   * Observes the client of a target until the handle is released.
   * @returns `undefined` if no plugin observes the target.
   */
  observe(client: StatsSource, { target, parseName }: ClientNames): Handle | undefined {
    const stats = this.registry.forChannel(target, this.logger);
    if (stats === undefined) return undefined;
    const observed = { client, stats };
    this.observed.add(observed);
    const { CONNECTED, RESOURCES } = ClientInstruments;
    const { FALLBACK_ACTIVE, SHORT_STREAMS } = OwnInstruments;
    const instruments = [CONNECTED, RESOURCES, FALLBACK_ACTIVE, SHORT_STREAMS];
    const gauges = stats.observeGauges(instruments, (report) => {
      reportServers(client, report);
      reportResources(client, parseName, report);
    });
    return createHandle(() => {
      this.observed.delete(observed);
      gauges?.release();
    });
  }

  onServerFailure(server: ServerConfig): void {
    this.others?.onServerFailure(server);
    const labels = { [ClientLabel.SERVER]: server.serverUri };
    for (const stats of this.usersOf(server)) {
      stats.series(ClientInstruments.SERVER_FAILURE, labels)?.add(1);
    }
  }

  onResponse(server: ServerConfig, typeUrl: string, valid: number, invalid: number): void {
    this.others?.onResponse(server, typeUrl, valid, invalid);
    if (this.observed.size === 0) return;
    const labels = {
      [ClientLabel.SERVER]: server.serverUri,
      ...labelsOfType(typeUrl),
    };
    const { UPDATES_VALID, UPDATES_INVALID } = ClientInstruments;
    for (const stats of this.usersOf(server)) {
      if (valid > 0) stats.series(UPDATES_VALID, labels)?.add(valid);
      if (invalid > 0) stats.series(UPDATES_INVALID, labels)?.add(invalid);
    }
  }

  /** The targets whose clients use a server. */
  private *usersOf({ serverUri }: ServerConfig): IterableIterator<ChannelStats> {
    for (const { client, stats } of this.observed) {
      if (client.serverStates().some((server) => server.serverUri === serverUri)) yield stats;
    }
  }
}

/** A server counts as connected from the creation of its stream until a failure, and after the next response (gRFC A78). */
function reportServers(client: StatsSource, report: ReportGauge): void {
  for (const { serverUri, lastError, shortStreams } of client.serverStates()) {
    const labels = { [ClientLabel.SERVER]: serverUri };
    report(ClientInstruments.CONNECTED, lastError === undefined ? 1 : 0, labels);
    report(OwnInstruments.SHORT_STREAMS, shortStreams, labels);
  }
  for (const { authority = NO_AUTHORITY, isActive } of client.fallbacks()) {
    const labels = { [ClientLabel.AUTHORITY]: authority };
    report(OwnInstruments.FALLBACK_ACTIVE, isActive ? 1 : 0, labels);
  }
}

/** Reports how many resources are in each state. Those of 0 are left out. */
function reportResources(
  client: StatsSource,
  parseName: ParseResourceName,
  report: ReportGauge,
): void {
  const counts = new Map<string, { readonly labels: LabelValues; count: number }>();
  for (const resource of client.resources()) {
    const labels = labelsOf(resource, parseName);
    const key = JSON.stringify(labels);
    const known = counts.get(key);
    if (known === undefined) counts.set(key, { labels, count: 1 });
    else known.count++;
  }
  for (const { labels, count } of counts.values())
    report(ClientInstruments.RESOURCES, count, labels);
}

function labelsOf(
  { typeUrl, name, status, accepted }: ResourceSnapshot,
  parseName: ParseResourceName,
): LabelValues {
  const parsed = parseName(name, typeUrl);
  const states = CACHE_STATES[status];
  return {
    [ClientLabel.AUTHORITY]: (parsed.ok ? parsed.value.authority : undefined) ?? NO_AUTHORITY,
    [ClientLabel.CACHE_STATE]: accepted === undefined ? states.missing : states.cached,
    ...labelsOfType(typeUrl),
  };
}

/** Returns the label of a type of resources (gRFC A78). */
export function labelsOfType(typeUrl: string): LabelValues {
  const label = typeUrl.startsWith(TYPE_PREFIX) ? typeUrl.slice(TYPE_PREFIX.length) : typeUrl;
  return { [ClientLabel.RESOURCE_TYPE]: label };
}
