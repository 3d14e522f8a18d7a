// A process whose grpc-js is instrumented, and that makes one call. Prints its spans.

// First: what follows loads grpc-js.
import { exporter, tracerProvider } from './instrument-grpc';
import { register } from '../../../src';
import { observe } from '../../../src/observe/opentelemetry';
import { EchoClient } from '../../support/echo-backend';
import { bootstrapFor, SERVICE } from '../../support/mesh';

const [server = ''] = process.argv.slice(2);

async function main(): Promise<void> {
  register({ bootstrap: bootstrapFor(server) });
  observe({ tracerProvider });
  const client = new EchoClient(`xds:///${SERVICE}`);
  await client.say();
  client.close();
  const spans = exporter.getFinishedSpans().map((span) => {
    const { name, instrumentationScope, parentSpanContext } = span;
    const { spanId } = span.spanContext();
    return { name, scope: instrumentationScope.name, spanId, parent: parentSpanContext?.spanId };
  });
  process.stdout.write(JSON.stringify(spans));
}

void main();
