import { ClusterLoadAssignment } from '../../../src/wire/generated/envoy/config/endpoint/v3/endpoint';
import { HealthStatus } from '../../../src/wire/generated/envoy/config/core/v3/health_check';
import { SocketAddress_Protocol } from '../../../src/wire/generated/envoy/config/core/v3/address';
import { ClusterStats } from '../../../src/wire/generated/envoy/config/endpoint/v3/load_report';
import { DiscoveryRequest } from '../../../src/wire/generated/envoy/service/discovery/v3/discovery';
import { FractionalPercent_DenominatorType } from '../../../src/wire/generated/envoy/type/v3/percent';
import { officialMessage } from '../../protos/official-schema';

/** Encodes with the generated code, lets the other parser read it and write it back, decodes. */
function throughOfficial<T>(
  codec: {
    encode(message: T): { finish(): Uint8Array };
    decode(input: Uint8Array): T;
  },
  typeName: string,
  file: string,
  message: T,
): { seen: unknown; back: T } {
  const official = officialMessage(file, typeName);
  const seen = official.decode(codec.encode(message).finish());
  return {
    seen: official.toObject(seen, { longs: String, enums: String }),
    back: codec.decode(official.encode(seen).finish()),
  };
}

describe('the generated code and an independent decoder of the official schema', () => {
  it('agree about a ClusterLoadAssignment', () => {
    const assignment = ClusterLoadAssignment.create({
      clusterName: 'payments',
      endpoints: [
        {
          locality: { region: 'eu-west-1', zone: 'b' },
          loadBalancingWeight: 0,
          priority: 1,
          metadata: {
            filterMetadata: new Map([
              [
                'envoy.lb',
                {
                  fields: new Map([
                    ['hash_key', { kind: { $case: 'stringValue', value: 'node-a' } }],
                    ['ratio', { kind: { $case: 'numberValue', value: 0.25 } }],
                  ]),
                },
              ],
            ]),
          },
          lbEndpoints: [
            {
              healthStatus: HealthStatus.DRAINING,
              loadBalancingWeight: 4_294_967_295,
              hostIdentifier: {
                $case: 'endpoint',
                value: {
                  hostname: 'payments.example.com',
                  address: {
                    address: {
                      $case: 'socketAddress',
                      value: {
                        protocol: SocketAddress_Protocol.TCP,
                        address: '10.0.0.1',
                        portSpecifier: { $case: 'portValue', value: 8080 },
                      },
                    },
                  },
                },
              },
            },
          ],
        },
      ],
      policy: {
        dropOverloads: [
          {
            category: 'throttle',
            dropPercentage: {
              numerator: 25,
              denominator: FractionalPercent_DenominatorType.TEN_THOUSAND,
            },
          },
        ],
      },
    });

    const { seen, back } = throughOfficial(
      ClusterLoadAssignment,
      'envoy.config.endpoint.v3.ClusterLoadAssignment',
      'envoy/config/endpoint/v3/endpoint.proto',
      assignment,
    );

    expect(seen).toMatchObject({
      cluster_name: 'payments',
      endpoints: [
        {
          locality: { region: 'eu-west-1', zone: 'b' },
          load_balancing_weight: {},
          priority: 1,
          metadata: {
            filter_metadata: {
              'envoy.lb': {
                fields: { hash_key: { stringValue: 'node-a' }, ratio: { numberValue: 0.25 } },
              },
            },
          },
          lb_endpoints: [
            {
              health_status: 'DRAINING',
              load_balancing_weight: { value: 4_294_967_295 },
              endpoint: {
                hostname: 'payments.example.com',
                address: { socket_address: { address: '10.0.0.1', port_value: 8080 } },
              },
            },
          ],
        },
      ],
      policy: {
        drop_overloads: [
          {
            category: 'throttle',
            drop_percentage: { numerator: 25, denominator: 'TEN_THOUSAND' },
          },
        ],
      },
    });
    expect(back).toEqual(assignment);
  });

  it('agree about a DiscoveryRequest', () => {
    const request = DiscoveryRequest.create({
      versionInfo: '7',
      node: {
        id: 'node-1',
        cluster: 'shop',
        metadata: {
          fields: new Map([
            ['TRAFFICDIRECTOR_NETWORK_NAME', { kind: { $case: 'stringValue', value: 'default' } }],
            [
              'nested',
              {
                kind: {
                  $case: 'structValue',
                  value: {
                    fields: new Map([['on', { kind: { $case: 'boolValue', value: true } }]]),
                  },
                },
              },
            ],
          ]),
        },
        userAgentName: 'grpc-xds',
        userAgentVersionType: { $case: 'userAgentVersion', value: '0.1.0' },
        clientFeatures: ['envoy.lb.does_not_support_overprovisioning'],
      },
      resourceNames: ['a', 'b'],
      typeUrl: 'type.googleapis.com/envoy.config.cluster.v3.Cluster',
      responseNonce: 'n7',
      errorDetail: { code: 3, message: 'invalid' },
    });

    const { seen, back } = throughOfficial(
      DiscoveryRequest,
      'envoy.service.discovery.v3.DiscoveryRequest',
      'envoy/service/discovery/v3/discovery.proto',
      request,
    );

    expect(seen).toMatchObject({
      version_info: '7',
      node: {
        id: 'node-1',
        user_agent_version: '0.1.0',
        metadata: {
          fields: {
            TRAFFICDIRECTOR_NETWORK_NAME: { stringValue: 'default' },
            nested: { structValue: { fields: { on: { boolValue: true } } } },
          },
        },
      },
      resource_names: ['a', 'b'],
      error_detail: { code: 3, message: 'invalid' },
    });
    expect(back).toEqual(request);
  });

  it('agree about 64-bit counters above the safe integers', () => {
    const stats = ClusterStats.create({
      clusterName: 'payments',
      totalDroppedRequests: 2n ** 64n - 1n,
      loadReportInterval: { seconds: 10n, nanos: 500_000_000 },
    });

    const { seen, back } = throughOfficial(
      ClusterStats,
      'envoy.config.endpoint.v3.ClusterStats',
      'envoy/config/endpoint/v3/load_report.proto',
      stats,
    );

    expect(seen).toMatchObject({
      total_dropped_requests: '18446744073709551615',
      load_report_interval: { seconds: '10', nanos: 500_000_000 },
    });
    expect(back).toEqual(stats);
  });
});
