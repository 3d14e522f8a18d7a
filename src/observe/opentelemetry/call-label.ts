import type { Context } from '@opentelemetry/api';
import { loadApi } from './load-api';

/** As `createContextKey` of `@opentelemetry/api` creates it. */
const LABEL = Symbol.for('grpc-xds call label');

/**
 * Returns a context whose calls have a label of the application's own: the value of the optional label
 * `grpc.client.call.custom` (gRFC A108). Keep the number of different values small.
 */
export function withCallLabel(context: Context, label: string): Context {
  return context.setValue(LABEL, label);
}

/** Returns a function that returns the label in the active context; empty if there is none. */
export function createLabelReader(): () => string {
  const { context } = loadApi();
  return () => {
    const label = context.active().getValue(LABEL);
    return typeof label === 'string' ? label : '';
  };
}
