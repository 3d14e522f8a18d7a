import type { ServiceObject } from '../../../packages/kubernetes/src/objects';
import type { StoredObjects } from '../../../packages/kubernetes/src/stored-objects';
import { mergeEndpoints } from '../../../packages/kubernetes/src/translate/merged-endpoints';
import {
  DRAINING,
  endpointManifest as endpoint,
  nodeManifest,
  objectsOf,
  serviceManifest as service,
  sliceManifest as slice,
  type Json,
} from '../../support/kubernetes-manifests';

/** The service `a` of some objects, and the endpoints of its first port. */
function merged(objects: StoredObjects) {
  const found: ServiceObject | undefined = objects.services.get('shop/a');
  const [port] = found?.ports ?? [];
  if (found === undefined || port === undefined) throw new Error('there is no port');
  return mergeEndpoints(found, port, objects.slicesOf('shop/a'), objects.nodes);
}

/** Each endpoint as `address+address:port`, with a star if it is draining. */
function listed(...manifests: readonly Json[]): readonly string[] {
  return merged(objectsOf(...manifests)).map(
    ({ addresses, port, isReady }) => `${addresses.join('+')}:${port}${isReady ? '' : '*'}`,
  );
}

const NOT_READY: Json = { conditions: { ready: false, serving: false } };
const pod = (uid: string): Json => ({ targetRef: { kind: 'Pod', uid } });
const tcp = (name: string | undefined, port: number | undefined, more: Json = {}): Json => ({
  ...(name === undefined ? {} : { name }),
  ...(port === undefined ? {} : { port }),
  protocol: 'TCP',
  ...more,
});

interface Case {
  readonly title: string;
  readonly manifests: readonly Json[];
  readonly expected: readonly string[];
}

const CASES: readonly Case[] = [
  { title: 'a service without slices has none', manifests: [service('a')], expected: [] },
  {
    title: 'endpoints are sorted by address, whatever the order of the slices',
    manifests: [
      service('a'),
      slice('a', [endpoint('10.0.0.3')], { name: 'a-x' }),
      slice('a', [endpoint('10.0.0.2'), endpoint('10.0.0.1')], { name: 'a-b' }),
    ],
    expected: ['10.0.0.1:8080', '10.0.0.2:8080', '10.0.0.3:8080'],
  },
  {
    title: 'an endpoint without conditions is ready',
    manifests: [service('a'), slice('a', [{ addresses: ['10.0.0.1'] }])],
    expected: ['10.0.0.1:8080'],
  },
  {
    title: 'one that is neither ready nor terminating is left out',
    manifests: [service('a'), slice('a', [endpoint('10.0.0.1', NOT_READY), endpoint('10.0.0.2')])],
    expected: ['10.0.0.2:8080'],
  },
  {
    title: 'one that serves without being ready or terminating is left out',
    manifests: [
      service('a'),
      slice('a', [endpoint('10.0.0.1', { conditions: { ready: false, serving: true } })]),
    ],
    expected: [],
  },
  {
    title: 'one that terminates without serving is left out',
    manifests: [
      service('a'),
      slice('a', [
        endpoint('10.0.0.1', { conditions: { ready: false, serving: false, terminating: true } }),
      ]),
    ],
    expected: [],
  },
  {
    title: 'one that serves and terminates is draining',
    manifests: [service('a'), slice('a', [endpoint('10.0.0.1', DRAINING), endpoint('10.0.0.2')])],
    expected: ['10.0.0.1:8080*', '10.0.0.2:8080'],
  },
  {
    title: 'publishNotReadyAddresses makes all of them ready',
    manifests: [
      service('a', { publishNotReadyAddresses: true }),
      slice('a', [endpoint('10.0.0.1', NOT_READY), endpoint('10.0.0.2', DRAINING)]),
    ],
    expected: ['10.0.0.1:8080', '10.0.0.2:8080'],
  },
  {
    title: 'the same endpoint in two slices counts once, with the best of its conditions',
    manifests: [
      service('a'),
      slice('a', [endpoint('10.0.0.1', DRAINING), endpoint('10.0.0.2')], { name: 'a-1' }),
      slice('a', [endpoint('10.0.0.1'), endpoint('10.0.0.2', NOT_READY)], { name: 'a-2' }),
    ],
    expected: ['10.0.0.1:8080', '10.0.0.2:8080'],
  },
  {
    title: 'one address with two ports is two endpoints',
    manifests: [
      service('a'),
      slice('a', [endpoint('10.0.0.1')], { name: 'a-1' }),
      slice('a', [endpoint('10.0.0.1')], { name: 'a-2', ports: [tcp('grpc', 9090)] }),
    ],
    expected: ['10.0.0.1:8080', '10.0.0.1:9090'],
  },
  {
    title: 'only the first address of an endpoint is used',
    manifests: [service('a'), slice('a', [{ addresses: ['10.0.0.1', '10.0.0.2'] }])],
    expected: ['10.0.0.1:8080'],
  },
  {
    title: 'the addresses of a pod in slices of two families are one endpoint, IPv4 first',
    manifests: [
      service('a'),
      slice('a', [endpoint('fd00::1', pod('p'))], { name: 'a-1', addressType: 'IPv6' }),
      slice('a', [endpoint('10.0.0.1', pod('p'))], { name: 'a-2' }),
    ],
    expected: ['10.0.0.1+fd00::1:8080'],
  },
  {
    title: 'or the first family of the service first',
    manifests: [
      service('a', { ipFamilies: ['IPv6', 'IPv4'] }),
      slice('a', [endpoint('10.0.0.1', pod('p'))], { name: 'a-1' }),
      slice('a', [endpoint('fd00::1', pod('p'))], { name: 'a-2', addressType: 'IPv6' }),
    ],
    expected: ['fd00::1+10.0.0.1:8080'],
  },
  {
    title: 'a pod is ready if one of its families has it ready',
    manifests: [
      service('a'),
      slice('a', [endpoint('10.0.0.1', { ...pod('p'), ...DRAINING })], { name: 'a-1' }),
      slice('a', [endpoint('fd00::1', pod('p'))], { name: 'a-2', addressType: 'IPv6' }),
    ],
    expected: ['10.0.0.1+fd00::1:8080'],
  },
  {
    title: 'pods of two families without a target are two endpoints',
    manifests: [
      service('a'),
      slice('a', [endpoint('10.0.0.1')], { name: 'a-1' }),
      slice('a', [endpoint('fd00::1')], { name: 'a-2', addressType: 'IPv6' }),
    ],
    expected: ['10.0.0.1:8080', 'fd00::1:8080'],
  },
  {
    title: 'two addresses of one family of a pod are two endpoints',
    manifests: [
      service('a'),
      slice('a', [endpoint('10.0.0.1', pod('p')), endpoint('10.0.0.2', pod('p'))]),
    ],
    expected: ['10.0.0.1:8080', '10.0.0.2:8080'],
  },
  {
    title: 'slices with names have no addresses',
    manifests: [service('a'), slice('a', [endpoint('b.example')], { addressType: 'FQDN' })],
    expected: [],
  },
  {
    title: 'a port is found by its name, whatever its number',
    manifests: [
      service('a'),
      slice('a', [endpoint('10.0.0.1')], { ports: [tcp('http', 1), tcp('grpc', 5000)] }),
    ],
    expected: ['10.0.0.1:5000'],
  },
  {
    title: 'a named target port may have another number in each slice',
    manifests: [
      service('a'),
      slice('a', [endpoint('10.0.0.1')], { name: 'a-1', ports: [tcp('grpc', 5000)] }),
      slice('a', [endpoint('10.0.0.2')], { name: 'a-2', ports: [tcp('grpc', 5001)] }),
    ],
    expected: ['10.0.0.1:5000', '10.0.0.2:5001'],
  },
  {
    title: 'a port without a name is found by having none',
    manifests: [
      service('a', { ports: [{ port: 80 }] }),
      slice('a', [endpoint('10.0.0.1')], { ports: [tcp(undefined, 8080)] }),
    ],
    expected: ['10.0.0.1:8080'],
  },
  {
    title: 'a slice for all ports has that of the service',
    manifests: [
      service('a'),
      slice('a', [endpoint('10.0.0.1')], { ports: [tcp('grpc', undefined)] }),
    ],
    expected: ['10.0.0.1:80'],
  },
  {
    title: 'ports of other protocols are not its own',
    manifests: [
      service('a'),
      slice('a', [endpoint('10.0.0.1')], { ports: [tcp('grpc', 8080, { protocol: 'UDP' })] }),
    ],
    expected: [],
  },
  {
    title: 'a headless service has the endpoints of its slices',
    manifests: [service('a', { clusterIP: 'None' }), slice('a', [endpoint('10.0.0.1')])],
    expected: ['10.0.0.1:8080'],
  },
  {
    title: 'slices of other services and namespaces are theirs',
    manifests: [
      service('a'),
      slice('b', [endpoint('10.0.0.1')]),
      slice('a', [endpoint('10.0.0.2')], { namespace: 'other' }),
    ],
    expected: [],
  },
];

describe('the endpoints of a port', () => {
  it.each(CASES)('$title', ({ manifests, expected }) => {
    expect(listed(...manifests)).toEqual(expected);
  });

  it('have the zone of their slice or else of their node, and the region of their node', () => {
    const objects = objectsOf(
      service('a'),
      nodeManifest('n1', 'z1'),
      slice('a', [
        endpoint('10.0.0.1', { nodeName: 'n1' }),
        endpoint('10.0.0.2', { nodeName: 'n1', zone: 'z2' }),
        endpoint('10.0.0.3', { nodeName: 'n2' }),
      ]),
    );
    expect(merged(objects)).toMatchObject([
      { region: 'north', zone: 'z1' },
      { region: 'north', zone: 'z2' },
      { region: '', zone: '' },
    ]);
  });

  it('are the same, and never fewer, while a slice is split into two in either order of writing', () => {
    const all = ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'];
    const [first, second] = [all.slice(0, 2), all.slice(2)];
    const write = (name: string, addresses: readonly string[]) =>
      slice(
        'a',
        addresses.map((address) => endpoint(address)),
        { name },
      );
    const steps = [
      [write('a-1', all)],
      [write('a-1', all), write('a-2', second)],
      [write('a-1', first), write('a-2', second)],
      [write('a-1', first), write('a-2', all)],
      [write('a-2', all)],
    ];
    const before = listed(service('a'), write('a-1', all));
    for (const slices of steps) expect(listed(service('a'), ...slices)).toEqual(before);
  });
});
