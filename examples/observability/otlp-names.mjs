// Prints a file of this folder with the names that metrics have in a Prometheus that receives them over OTLP, or from the
// Prometheus exporter of a collector: these add the units.
//
//   node examples/observability/otlp-names.mjs dashboard.json > dashboard-otlp.json
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** By unit, as Prometheus calls it. Those that docs/metrics.md has in braces are left out of names. */
const METRICS = {
  seconds: [
    'grpc_client_attempt_duration',
    'grpc_client_call_duration',
    'grpc_client_call_retry_delay',
    'grpc_server_call_duration',
    'grpc_xds_config_apply_duration',
    'grpc_xds_config_held_back_duration',
  ],
  bytes: [
    'grpc_client_attempt_rcvd_total_compressed_message_size',
    'grpc_client_attempt_sent_total_compressed_message_size',
    'grpc_lb_rls_cache_size',
    'grpc_server_call_rcvd_total_compressed_message_size',
    'grpc_server_call_sent_total_compressed_message_size',
    'grpc_xds_relay_relayed_size',
  ],
};

/** Adds the units to all names of metrics in a text. */
export const withUnits = (text) =>
  Object.entries(METRICS).reduce((result, [unit, names]) => {
    const series = new RegExp(`\\b(${names.join('|')})(_(?:bucket|count|sum|total))\\b`, 'g');
    return result.replace(series, `$1_${unit}$2`);
  }, text);

const [, script, name] = process.argv;
if (script === fileURLToPath(import.meta.url)) {
  process.stdout.write(withUnits(readFileSync(new URL(name, import.meta.url), 'utf8')));
}
