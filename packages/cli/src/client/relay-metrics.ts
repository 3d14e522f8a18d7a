import { createServer, type Server } from 'node:http';
import { createMetricProducer, observe, type ProducedMetric } from 'grpc-xds/opentelemetry';
import { allInstruments } from 'grpc-xds/internal';
import { joinHostPort } from '../../../../src/util/text';

/** Metrics of a relay that are being served. */
export interface ServedMetrics {
  /** Such as `http://127.0.0.1:9464/metrics`. */
  readonly url: string;
  close(): void;
}

/** Those of the relay, and of its connections to the management servers. */
const NAMES = allInstruments
  .map(({ name }) => name)
  .filter((name) => /^grpc(?:_xds)?\.(?:relay|xds_client)\./.test(name));

/** Connections at once; a scraper needs one. */
const MAX_CONNECTIONS = 8;
/** Milliseconds in which a request has to arrive. */
const REQUEST_TIMEOUT_MS = 5000;

/**
 * Serves the metrics of the relay that is started next in this process, in the text format of Prometheus, at `/metrics`.
 *
 * @throws if the address cannot be used.
 */
export async function serveRelayMetrics({
  host,
  port,
}: {
  readonly host: string;
  readonly port: number;
}): Promise<ServedMetrics> {
  const metricProducer = createMetricProducer();
  const observed = observe({ metricProducer, disableAllMetrics: true, enableMetrics: NAMES });
  const server = createMetricsServer(async () => {
    const { resourceMetrics } = await metricProducer.collect();
    return formatMetrics(resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics));
  });
  const close = () => {
    observed.close();
    server.close();
    server.closeAllConnections();
  };
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, resolve);
    });
  } catch (error) {
    close();
    throw error;
  }
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  return { url: `http://${joinHostPort(host, bound)}/metrics`, close };
}

function createMetricsServer(read: () => Promise<string>): Server {
  const limits = {
    headersTimeout: REQUEST_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: REQUEST_TIMEOUT_MS,
    maxHeaderSize: 8192,
  };
  const server = createServer(limits, (request, response) => {
    request.resume();
    const isMetrics = request.url?.split('?', 1)[0] === '/metrics';
    if (!isMetrics || (request.method !== 'GET' && request.method !== 'HEAD')) {
      response.writeHead(isMetrics ? 405 : 404).end();
      return;
    }
    void read().then((text) => {
      response.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' });
      response.end(text);
    });
  });
  server.maxConnections = MAX_CONNECTIONS;
  // A scraper that does not read is cut off.
  server.timeout = 2 * REQUEST_TIMEOUT_MS;
  return server;
}

/** Names counters and gauges as `@opentelemetry/exporter-prometheus` does, so that the same dashboards show them. */
function formatMetrics(metrics: readonly ProducedMetric[]): string {
  return metrics.map((metric) => `${formatMetric(metric).join('\n')}\n`).join('');
}

function formatMetric(metric: ProducedMetric): readonly string[] {
  const { name: dotted, description } = metric.descriptor;
  const isCounter = 'isMonotonic' in metric && metric.isMonotonic;
  const name = `${dotted.replace(/\W/g, '_')}${isCounter ? '_total' : ''}`;
  const series = metric.dataPoints.flatMap(({ attributes, value }) =>
    typeof value === 'number' ? [`${name}${formatLabels(attributes)} ${value}`] : [],
  );
  const type = isCounter ? 'counter' : 'gauge';
  return [`# HELP ${name} ${escape(description)}`, `# TYPE ${name} ${type}`, ...series];
}

function formatLabels(attributes: Readonly<Record<string, unknown>>): string {
  const labels = Object.entries(attributes).map(
    ([name, value]) =>
      `${name.replace(/\W/g, '_')}="${escape(String(value)).replaceAll('"', '\\"')}"`,
  );
  return labels.length === 0 ? '' : `{${labels.join(',')}}`;
}

function escape(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
