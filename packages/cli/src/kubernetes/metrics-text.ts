import type { ClientEvent } from 'grpc-xds/control-plane';
import type { KubernetesState } from 'grpc-xds-kubernetes';

/** What has happened with one type of resource. */
interface TypeCounts {
  responses: number;
  resources: number;
  nacks: number;
}

/** What has happened on the streams of clients since the start, by type of resource. */
export class StreamCounts {
  private openCount = 0;
  private openedCount = 0;
  private readonly byType = new Map<string, TypeCounts>();

  get open(): number {
    return this.openCount;
  }

  get opened(): number {
    return this.openedCount;
  }

  /** By the name of the message of the type, without its package. */
  get types(): ReadonlyMap<string, Readonly<TypeCounts>> {
    return this.byType;
  }

  onEvent(event: ClientEvent): void {
    if (event.kind === 'connected') {
      this.openCount++;
      this.openedCount++;
    } else if (event.kind === 'disconnected') this.openCount--;
    else if (event.kind === 'sent') {
      const counts = this.of(event.typeUrl);
      counts.responses++;
      counts.resources += event.names.length;
    } else if (event.kind === 'nacked') this.of(event.typeUrl).nacks++;
  }

  /** Clients may name any type; those that are sent something are few. */
  private of(typeUrl: string) {
    const type = typeUrl.slice(typeUrl.lastIndexOf('.') + 1);
    const counts = this.byType.get(type) ?? { responses: 0, resources: 0, nacks: 0 };
    this.byType.set(type, counts);
    return counts;
  }
}

/** What the metrics are read from. */
export interface MetricsInput {
  readonly state: KubernetesState;
  readonly streams: StreamCounts;
  /** Milliseconds since the epoch. */
  readonly startedMs: number;
}

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [value: number, labels?: Labels];

/** Returns metrics in the text format of Prometheus (https://prometheus.io/docs/instrumenting/exposition_formats/, 0.0.4). */
export function formatMetrics(input: MetricsInput): string {
  return `${[...clusterMetrics(input), ...clientMetrics(input), ...processMetrics(input)].join('\n')}\n`;
}

const CLUSTER = 'grpc_xds_kubernetes';

function clusterMetrics({ state }: MetricsInput): readonly string[] {
  const gauge = (name: string, help: string, value: number) =>
    metric(`${CLUSTER}_${name}`, 'gauge', help, [[value]]);
  const { failingForMs = 0 } = state;
  return [
    ...gauge('ready', 'Whether resources are served.', Number(state.isReady)),
    ...gauge('listed', 'Whether everything has been listed.', Number(state.isListed)),
    ...gauge(
      'failing_seconds',
      'How long a watch has been failing; 0 if all work.',
      failingForMs / 1000,
    ),
    ...watchMetrics(state.watches),
    ...metric(`${CLUSTER}_changes_total`, 'counter', 'Changes that were applied.', [
      [state.changes],
    ]),
    ...tokenMetrics(state.tokens),
  ];
}

function watchMetrics(watches: KubernetesState['watches']): readonly string[] {
  const labelsOf = ({ resource, namespace = '' }: (typeof watches)[number]) => ({
    resource,
    namespace,
  });
  const ages = watches.flatMap((watch): readonly Sample[] =>
    watch.ageMs === undefined ? [] : [[watch.ageMs / 1000, labelsOf(watch)]],
  );
  const counts = watches.map((watch): Sample => [watch.objectCount, labelsOf(watch)]);
  const help = 'Time since the API server confirmed what is known.';
  return [
    ...metric(`${CLUSTER}_watch_age_seconds`, 'gauge', help, ages),
    ...metric(`${CLUSTER}_watch_objects`, 'gauge', 'Objects of each watch.', counts),
  ];
}

function tokenMetrics(tokens: KubernetesState['tokens']): readonly string[] {
  const results = ['accepted', 'refused', 'failed'] as const;
  const counts = results.map((result): Sample => [tokens[result], { result }]);
  const help = 'TokenReviews sent to the API server.';
  return [
    ...metric(`${CLUSTER}_tokens_total`, 'counter', 'Bearer tokens of streams.', counts),
    ...metric(`${CLUSTER}_token_reviews_total`, 'counter', help, [[tokens.reviews]]),
  ];
}

function clientMetrics({ streams }: MetricsInput): readonly string[] {
  const at = 'grpc_xds_control_plane';
  const byType = (name: string, help: string, key: keyof TypeCounts) =>
    metric(
      `${at}_${name}`,
      'counter',
      help,
      [...streams.types].map(([type, counts]) => [counts[key], { type }]),
    );
  return [
    ...metric(`${at}_streams`, 'gauge', 'Open discovery streams.', [[streams.open]]),
    ...metric(`${at}_streams_total`, 'counter', 'Discovery streams that were opened.', [
      [streams.opened],
    ]),
    ...byType('responses_total', 'Responses that were sent.', 'responses'),
    ...byType('resources_total', 'Resources in them.', 'resources'),
    ...byType('rejections_total', 'Responses that were rejected (NACK).', 'nacks'),
  ];
}

function processMetrics({ startedMs }: MetricsInput): readonly string[] {
  const { user, system } = process.cpuUsage();
  return [
    ...metric('process_cpu_seconds_total', 'counter', 'CPU time.', [[(user + system) / 1e6]]),
    ...metric('process_resident_memory_bytes', 'gauge', 'Resident memory.', [
      [process.memoryUsage.rss()],
    ]),
    ...metric('process_start_time_seconds', 'gauge', 'Start, in Unix time.', [[startedMs / 1000]]),
  ];
}

function metric(
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  samples: readonly Sample[],
): readonly string[] {
  const lines = samples.map(([value, labels = {}]) => `${name}${formatLabels(labels)} ${value}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines];
}

function formatLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeLabel(value: string): string {
  return value.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n');
}
