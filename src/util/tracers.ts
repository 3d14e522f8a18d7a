/**
 * Reads a `GRPC_TRACE` list: names separated by commas, `all` for every tracer, `-name` for all but one.
 * @returns tells whether a tracer is on.
 */
export function parseTracers(list: string): (tracer: string) => boolean {
  const on = new Set<string>();
  const off = new Set<string>();
  for (const item of list.split(',')) {
    if (item.startsWith('-')) off.add(item.slice(1));
    else on.add(item);
  }
  return (tracer) => !off.has(tracer) && (on.has('all') || on.has(tracer));
}

/** The tracers this process has switched on, by the variables grpc-js reads. For the composition root. */
export function currentTracers(): (tracer: string) => boolean {
  return parseTracers(process.env['GRPC_NODE_TRACE'] ?? process.env['GRPC_TRACE'] ?? '');
}
