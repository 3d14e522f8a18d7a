import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFileRegistry, fromBinary, type DescMessage } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { descriptorSet } from '../../src/wire/generated/descriptor-set';
import { listEnvoyFields } from '../../src/wire/proto-json/envoy-fields';

interface Row {
  readonly message: string;
  readonly field: string;
  readonly number: number;
  readonly status: string;
  readonly places?: readonly string[];
  readonly flag?: string;
  readonly since: string;
}

const root = join(__dirname, '..', '..');
const table = JSON.parse(readFileSync(join(root, 'packages/cli/schemas/fields.json'), 'utf8')) as {
  readonly statuses: Readonly<Record<string, string>>;
  readonly fields: readonly Row[];
};
const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, Buffer.from(descriptorSet, 'base64')),
);

/** What the table says of a field: the status everywhere, and those of some places. */
function statusesOf(message: string, field: string): Record<string, string> {
  const rows = table.fields.filter((row) => row.message === message && row.field === field);
  return Object.fromEntries(
    rows.flatMap(({ status, flag, places = ['everywhere'] }) =>
      places.map((place) => [place, flag === undefined ? status : `${status} with ${flag}`]),
    ),
  );
}

/** Each field of a message, those of Envoy's schema that this package leaves out included. */
function fieldsOf(desc: DescMessage): readonly string[] {
  return [
    ...desc.fields.map(({ name }) => name),
    ...(listEnvoyFields().get(desc.typeName)?.keys() ?? []),
  ];
}

const ENVOY = 'used with GRPC_XDS_NODE_ENVOY_FEATURES';

// `npm run check -- generated` compares all of it with what the parsers do with resources in which one field is changed.
describe('the table of fields', () => {
  it.each([
    ['envoy.config.listener.v3.Listener', 'filter_chains', 'used'],
    ['envoy.config.listener.v3.Listener', 'listener_filters', 'refused'],
    ['envoy.config.listener.v3.Listener', 'access_log', 'ignored'],
    ['envoy.config.listener.v3.FilterChainMatch', 'prefix_ranges', 'used'],
    ['envoy.config.rbac.v3.Policy', 'condition', 'refused'],
    ['envoy.config.route.v3.RouteAction', 'timeout', 'ignored'],
    ['envoy.config.route.v3.RouteAction', 'request_mirror_policies', ENVOY],
    ['envoy.config.route.v3.RouteAction', 'max_stream_duration', 'used'],
    ['envoy.config.route.v3.RouteAction.HashPolicy', 'header', 'used'],
    ['envoy.config.route.v3.RouteAction.HashPolicy', 'cookie', 'ignored'],
    ['envoy.config.route.v3.RetryPolicy', 'retry_on', 'used'],
    ['envoy.config.route.v3.RetryPolicy', 'per_try_timeout', ENVOY],
    ['envoy.config.route.v3.RouteMatch', 'query_parameters', 'used'],
    ['envoy.config.route.v3.RouteMatch', 'connect_matcher', 'refused'],
    ['envoy.config.cluster.v3.Cluster', 'type', 'used'],
    ['envoy.config.cluster.v3.Cluster', 'transport_socket_matches', 'refused'],
    ['envoy.config.cluster.v3.Cluster', 'connect_timeout', 'ignored'],
    ['envoy.config.cluster.v3.CircuitBreakers.Thresholds', 'max_requests', 'used'],
    ['envoy.config.cluster.v3.OutlierDetection', 'consecutive_5xx', 'ignored'],
    ['envoy.config.cluster.v3.Cluster.RingHashLbConfig', 'hash_function', 'checked'],
    ['envoy.config.endpoint.v3.ClusterLoadAssignment.Policy', 'drop_overloads', 'used'],
    ['envoy.extensions.filters.http.fault.v3.HTTPFault', 'delay', 'used'],
    ['envoy.extensions.filters.http.fault.v3.HTTPFault', 'headers', 'ignored'],
    ['envoy.extensions.transport_sockets.tls.v3.CommonTlsContext', 'tls_params', 'refused'],
    [
      'envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext',
      'require_signed_certificate_timestamp',
      'refused',
    ],
    [
      'envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest',
      'choice_count',
      'used',
    ],
    [
      'envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin',
      'slow_start_config',
      ENVOY,
    ],
  ])('says of %s.%s: %s', (message, field, status) => {
    expect(statusesOf(message, field)).toEqual({ everywhere: status });
  });

  it('says where a field means something else', () => {
    const options = 'envoy.config.core.v3.HttpProtocolOptions';
    expect(statusesOf(options, 'idle_timeout')).toEqual({
      everywhere: 'used',
      'HttpConnectionManager.common_http_protocol_options': 'ignored',
    });
    expect(statusesOf('envoy.config.endpoint.v3.LbEndpoint', 'health_status')).toEqual({
      everywhere: 'used',
      'Cluster.load_assignment.endpoints.lb_endpoints': 'ignored',
    });
  });

  it('names the variables of features that are off by default', () => {
    expect(statusesOf('envoy.config.route.v3.RouteAction', 'auto_host_rewrite')).toEqual({
      everywhere: 'used with GRPC_EXPERIMENTAL_XDS_AUTHORITY_REWRITE',
    });
  });

  it('has every field of each message that is read, below the resources and in every Any', () => {
    const known = new Map<string, Set<string>>();
    for (const { message, field, number } of table.fields) {
      known.set(message, (known.get(message) ?? new Set()).add(field));
      const desc = registry.getMessage(message)?.fields.find(({ name }) => name === field);
      expect(number).toBe(desc?.number ?? listEnvoyFields().get(message)?.get(field));
    }
    const missing: string[] = [];
    const seen = new Set<string>();
    const visit = (desc: DescMessage): void => {
      if (seen.has(desc.typeName) || desc.typeName.startsWith('google.')) return;
      seen.add(desc.typeName);
      for (const name of fieldsOf(desc)) {
        if (known.get(desc.typeName)?.has(name) !== true) missing.push(`${desc.typeName}.${name}`);
      }
      for (const field of desc.fields) {
        if (field.message === undefined) continue;
        const statuses = Object.values(statusesOf(desc.typeName, field.name));
        if (statuses.some((status) => status.startsWith('used'))) visit(field.message);
      }
    };
    for (const name of [
      'envoy.config.listener.v3.Listener',
      'envoy.config.route.v3.RouteConfiguration',
      'envoy.config.cluster.v3.Cluster',
      'envoy.config.endpoint.v3.ClusterLoadAssignment',
      ...known.keys(),
    ]) {
      const desc = registry.getMessage(name);
      if (desc !== undefined) visit(desc);
    }
    expect(missing).toEqual([]);
    expect(table.fields.length).toBeGreaterThan(600);
  });

  it('has one of four statuses and a version in each row', () => {
    const wrong = table.fields.filter(
      ({ status, since }) => table.statuses[status] === undefined || !/^\d+\.\d+\.\d+$/.test(since),
    );
    expect(wrong).toEqual([]);
    expect(Object.keys(table.statuses)).toEqual(['used', 'checked', 'refused', 'ignored']);
  });
});
