import type { SchemaModel, SchemaType } from './schema-model';

/** A member of the official schema that the copy shipped in the peer is too old to have. */
export interface NewerMember {
  readonly type: string;
  readonly kind: SchemaType['kind'];
  readonly member: string;
  readonly text: string;
  /** Repository that declares it. */
  readonly repository: 'envoyproxy/envoy' | 'cncf/xds';
  /** Path of the declaring file below the repository's source directory. */
  readonly file: string;
}

const config = 'envoy.config';
const extensions = 'envoy.extensions';
const lb = `${extensions}.load_balancing_policies`;
const composite = `${extensions}.filters.http.composite.v3`;
const rbac = 'envoy.config.rbac.v3';
const discovery = 'envoy.service.discovery.v3';
const mutationRules = 'envoy.config.common.mutation_rules.v3';
const service = `${extensions}.grpc_service`;
const serviceFolder = 'envoy/extensions/grpc_service';
const accessTokenFile = `${serviceFolder}/call_credentials/access_token/v3/access_token_credentials.proto`;
const tlsFile = `${serviceFolder}/channel_credentials/tls/v3/tls_credentials.proto`;
const xdsFile = `${serviceFolder}/channel_credentials/xds/v3/xds_credentials.proto`;

/** Members of messages in one file, each as message, member and text. */
const messages = (file: string, members: readonly [string, string, string][]): NewerMember[] =>
  members.map(([type, member, text]) => ({
    type,
    kind: 'message',
    member,
    text,
    repository: file.startsWith('xds/') ? 'cncf/xds' : 'envoyproxy/envoy',
    file,
  }));

/** Checked against go-control-plane envoy v1.40.0 and cncf/xds dba9d589def2. */
export const newerMembers: readonly NewerMember[] = [
  ...messages('envoy/service/discovery/v3/discovery.proto', [
    [`${discovery}.ResourceError`, 'resource_name', `1 optional ${discovery}.ResourceName`],
    [`${discovery}.ResourceError`, 'error_detail', '2 optional google.rpc.Status'],
    [`${discovery}.DiscoveryResponse`, 'resource_errors', `7 repeated ${discovery}.ResourceError`],
    [
      `${discovery}.DeltaDiscoveryResponse`,
      'resource_errors',
      `9 repeated ${discovery}.ResourceError`,
    ],
  ]),
  ...messages('envoy/config/endpoint/v3/endpoint_components.proto', [
    [
      `${config}.endpoint.v3.LbEndpointCollection`,
      'entries',
      '1 repeated xds.core.v3.CollectionEntry',
    ],
  ]),
  ...messages(
    'envoy/extensions/load_balancing_policies/client_side_weighted_round_robin/v3/client_side_weighted_round_robin.proto',
    [
      [
        `${lb}.client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin`,
        'metric_names_for_computing_utilization',
        '7 repeated string',
      ],
      [
        `${lb}.client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin`,
        'slow_start_config',
        `8 optional ${lb}.common.v3.SlowStartConfig`,
      ],
    ],
  ),
  ...messages(
    'envoy/extensions/load_balancing_policies/random_subsetting/v3/random_subsetting.proto',
    [
      [
        `${lb}.random_subsetting.v3.RandomSubsetting`,
        'subset_size',
        '1 optional google.protobuf.UInt32Value',
      ],
      [
        `${lb}.random_subsetting.v3.RandomSubsetting`,
        'child_policy',
        `2 optional ${config}.cluster.v3.LoadBalancingPolicy`,
      ],
    ],
  ),
  ...messages('envoy/extensions/transport_sockets/tls/v3/tls.proto', [
    [
      `${extensions}.transport_sockets.tls.v3.UpstreamTlsContext`,
      'auto_host_sni',
      '6 optional bool',
    ],
    [
      `${extensions}.transport_sockets.tls.v3.UpstreamTlsContext`,
      'auto_sni_san_validation',
      '7 optional bool',
    ],
  ]),
  ...messages('envoy/extensions/filters/http/composite/v3/composite.proto', [
    [
      `${composite}.ExecuteFilterAction`,
      'filter_chain',
      `4 optional ${composite}.FilterChainConfiguration`,
    ],
    [
      `${composite}.FilterChainConfiguration`,
      'typed_config',
      `1 repeated ${config}.core.v3.TypedExtensionConfig`,
    ],
  ]),
  ...messages('envoy/config/rbac/v3/rbac.proto', [
    [`${rbac}.Permission`, 'sourced_metadata', `14 optional ${rbac}.SourcedMetadata in oneof rule`],
    [
      `${rbac}.Principal`,
      'sourced_metadata',
      `13 optional ${rbac}.SourcedMetadata in oneof identifier`,
    ],
    [
      `${rbac}.Principal`,
      'custom',
      `14 optional ${config}.core.v3.TypedExtensionConfig in oneof identifier`,
    ],
    [
      `${rbac}.SourcedMetadata`,
      'metadata_matcher',
      '1 optional envoy.type.matcher.v3.MetadataMatcher',
    ],
  ]),
  ...messages('envoy/config/common/mutation_rules/v3/mutation_rules.proto', [
    [
      `${mutationRules}.HeaderMutation`,
      'remove_on_match',
      `3 optional ${mutationRules}.HeaderMutation.RemoveOnMatch in oneof action`,
    ],
    [
      `${mutationRules}.HeaderMutation.RemoveOnMatch`,
      'key_matcher',
      '1 optional envoy.type.matcher.v3.StringMatcher',
    ],
  ]),
  ...messages('envoy/config/core/v3/grpc_service.proto', [
    [
      `${config}.core.v3.GrpcService.GoogleGrpc`,
      'channel_credentials_plugin',
      '9 repeated google.protobuf.Any',
    ],
    [
      `${config}.core.v3.GrpcService.GoogleGrpc`,
      'call_credentials_plugin',
      '10 repeated google.protobuf.Any',
    ],
  ]),
  ...messages(accessTokenFile, [
    [
      `${service}.call_credentials.access_token.v3.AccessTokenCredentials`,
      'token',
      '1 optional string',
    ],
  ]),
  ...messages(
    tlsFile,
    ['root', 'identity'].map((name, index): [string, string, string] => [
      `${service}.channel_credentials.tls.v3.TlsCredentials`,
      `${name}_certificate_provider`,
      `${index + 1} optional ${extensions}.transport_sockets.tls.v3.CommonTlsContext.CertificateProviderInstance`,
    ]),
  ),
  ...messages(xdsFile, [
    [
      `${service}.channel_credentials.xds.v3.XdsCredentials`,
      'fallback_credentials',
      '1 optional google.protobuf.Any',
    ],
  ]),
  ...messages('xds/type/matcher/v3/matcher.proto', [
    ['xds.type.matcher.v3.Matcher.OnMatch', 'keep_matching', '3 optional bool'],
  ]),
  ...['RECEIVED_ERROR', 'TIMEOUT'].map((member, index): NewerMember => ({
    type: 'envoy.admin.v3.ClientResourceStatus',
    kind: 'enum',
    member,
    text: String(5 + index),
    repository: 'envoyproxy/envoy',
    file: 'envoy/admin/v3/config_dump_shared.proto',
  })),
];

/** Newer messages without fields. */
const emptyMessages = ['google_default', 'insecure'].map((kind) => ({
  type: `${service}.channel_credentials.${kind}.v3.${kind === 'insecure' ? 'Insecure' : 'GoogleDefault'}Credentials`,
  file: `${serviceFolder}/channel_credentials/${kind}/v3/${kind}_credentials.proto`,
}));

/** Files that exist upstream and not in the copy. */
export const newerFiles: ReadonlySet<string> = new Set([
  'envoy/extensions/load_balancing_policies/random_subsetting/v3/random_subsetting.proto',
  accessTokenFile,
  tlsFile,
  xdsFile,
  ...emptyMessages.map(({ file }) => file),
]);

/** Adds the newer members to the model of the copy and returns it. */
export function withNewerMembers(official: SchemaModel): SchemaModel {
  for (const { type, kind, member, text, file } of newerMembers) {
    const known = official.get(type) ?? { kind, file, members: new Map<string, string>() };
    known.members.set(member, text);
    official.set(type, known);
  }
  for (const { type, file } of emptyMessages) {
    official.set(type, { kind: 'message', file, members: new Map() });
  }
  return official;
}
