import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { findUnusedFields, formatUnusedField } from '../../../src/resources/encoded/unused-fields';

const TYPE = {
  listener: 'type.googleapis.com/envoy.config.listener.v3.Listener',
  routes: 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration',
  cluster: 'type.googleapis.com/envoy.config.cluster.v3.Cluster',
  endpoints: 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment',
};
const MANAGER =
  'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';

/** The schema of this package does not have the fields that it does not use: these are written by number. */
type Value = string | number | Message | Uint8Array;
type Message = readonly (readonly [number: number, value: Value])[];

function encode(message: Message): Uint8Array {
  const writer = new BinaryWriter();
  for (const [number, value] of message) {
    if (typeof value === 'number') writer.tag(number, 0).uint32(value);
    else if (typeof value === 'string') writer.tag(number, 2).string(value);
    else writer.tag(number, 2).bytes(value instanceof Uint8Array ? value : encode(value));
  }
  return writer.finish();
}

function find(typeUrl: string, message: Message): readonly string[] {
  return findUnusedFields(typeUrl, encode(message)).map(formatUnusedField);
}

const EMPTY: Message = [];
const mirror: Message = [
  [1, 'cluster'],
  [30, [[1, 'shadow']]],
];
const routeTo = (action: Message): Message => [
  [1, [[1, '/']]],
  [2, action],
];

describe('the unused fields of a resource', () => {
  it('are not those that the features of Envoy use', () => {
    const bytes = encode([[2, [[3, routeTo([...mirror, [8, EMPTY]])]]]]);
    const fields = findUnusedFields(TYPE.routes, bytes, true).map(formatUnusedField);
    expect(fields).toEqual(['virtual_hosts[0].routes[0].route.timeout']);
  });

  it.each<[text: string, typeUrl: string, message: Message, expected: readonly string[]]>([
    [
      'mirroring, at each route',
      TYPE.routes,
      [
        [
          2,
          [
            [3, routeTo([[1, 'cluster']])],
            [3, routeTo(mirror)],
          ],
        ],
      ],
      [
        'virtual_hosts[0].routes[1].route.request_mirror_policies: only with GRPC_XDS_NODE_ENVOY_FEATURES=true',
      ],
    ],
    [
      'a repeated field, once for its place',
      TYPE.routes,
      [
        [
          2,
          [
            [
              3,
              [
                [9, EMPTY],
                [9, EMPTY],
              ],
            ],
          ],
        ],
      ],
      [
        'virtual_hosts[0].routes[0].request_headers_to_add: only with GRPC_XDS_NODE_ENVOY_FEATURES=true',
      ],
    ],
    [
      'the same field in several places, by the first of them',
      TYPE.routes,
      [
        [2, [[3, routeTo(mirror)]]],
        [
          2,
          [
            [3, routeTo(mirror)],
            [3, routeTo([...mirror, ...mirror])],
          ],
        ],
      ],
      [
        'virtual_hosts[0].routes[0].route.request_mirror_policies: only with GRPC_XDS_NODE_ENVOY_FEATURES=true (first of 3 places)',
      ],
    ],
    [
      'clusters by plugins, in routes that are left out',
      TYPE.routes,
      [
        [
          2,
          [
            [3, routeTo([[37, 'plugin']])],
            [3, routeTo([[39, EMPTY]])],
            [
              3,
              routeTo([
                [2, 'header'],
                [1, 'cluster'],
              ]),
            ],
          ],
        ],
      ],
      [
        'virtual_hosts[0].routes[1].route.inline_cluster_specifier_plugin: the route is left out, since gRPC does not know such clusters',
        'virtual_hosts[0].routes[2].route.cluster_header',
      ],
    ],
    [
      'conditions of retries that gRPC does not know',
      TYPE.routes,
      [
        [
          2,
          [
            [
              16,
              [
                [1, 'unavailable, 5xx,Cancelled,reset'],
                [3, EMPTY],
              ],
            ],
          ],
        ],
      ],
      [
        'virtual_hosts[0].retry_policy.retry_on: 5xx, reset',
        'virtual_hosts[0].retry_policy.per_try_timeout: only with GRPC_XDS_NODE_ENVOY_FEATURES=true',
      ],
    ],
    [
      'the routes of a listener',
      TYPE.listener,
      [
        [
          19,
          [
            [
              1,
              [
                [1, MANAGER],
                [2, encode([[4, [[2, [[8, EMPTY]]]]]])],
              ],
            ],
          ],
        ],
      ],
      ['api_listener.api_listener.route_config.virtual_hosts[0].cors'],
    ],
    [
      'options of outlier detection, circuit breaking and connections',
      TYPE.cluster,
      [
        [4, EMPTY],
        [
          10,
          [
            [1, [[4, EMPTY]]],
            [1, [[3, EMPTY]]],
          ],
        ],
        [
          19,
          [
            [1, EMPTY],
            [9, EMPTY],
          ],
        ],
      ],
      [
        'connect_timeout',
        'circuit_breakers.thresholds[1].max_pending_requests',
        'outlier_detection.consecutive_5xx',
      ],
    ],
    [
      'the overprovisioning factor',
      TYPE.endpoints,
      [
        [
          4,
          [
            [2, EMPTY],
            [3, EMPTY],
          ],
        ],
      ],
      ['policy.overprovisioning_factor'],
    ],
  ])('are %s', (_text, typeUrl, message, expected) => {
    expect(find(typeUrl, message)).toEqual(expected);
  });

  it('are none of a resource that sets only what is used', () => {
    const used = [
      find(TYPE.routes, [
        [1, 'routes'],
        [
          2,
          [
            [2, '*'],
            [
              3,
              routeTo([
                [1, 'cluster'],
                [36, EMPTY],
              ]),
            ],
          ],
        ],
      ]),
      find(TYPE.listener, [
        [1, 'listener'],
        [
          19,
          [
            [
              1,
              [
                [1, 'other'],
                [2, encode([[6, 'agent']])],
              ],
            ],
          ],
        ],
      ]),
      find(TYPE.cluster, [
        [1, 'cluster'],
        [10, [[1, [[4, EMPTY]]]]],
      ]),
      find(TYPE.endpoints, [
        [1, 'cluster'],
        [
          2,
          [
            [1, EMPTY],
            [3, EMPTY],
          ],
        ],
      ]),
      find('type.googleapis.com/another.Type', mirror),
    ];
    expect(used).toEqual([[], [], [], [], []]);
  });

  it('are as few as there are kinds of them, however large the resource is', () => {
    const routes = Array.from({ length: 20_000 }, () => [3, routeTo(mirror)] as const);
    expect(find(TYPE.routes, [[2, routes]])).toEqual([
      'virtual_hosts[0].routes[0].route.request_mirror_policies: only with GRPC_XDS_NODE_ENVOY_FEATURES=true (first of 20000 places)',
    ]);
  });

  it('are those before the malformed bytes of a message', () => {
    const bytes = Buffer.concat([encode([[4, EMPTY]]), Buffer.from([0x52, 0xff])]);
    expect(findUnusedFields(TYPE.cluster, bytes)).toEqual([
      { path: 'connect_timeout', part: undefined, isLeftOut: false, count: 1 },
    ]);
  });
});
