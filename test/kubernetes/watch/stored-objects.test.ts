import type { ObjectChange } from '../../../packages/kubernetes/src/cluster-objects';
import type { KubernetesObject, ObjectKind } from '../../../packages/kubernetes/src/objects';
import { readObjectOf } from '../../../packages/kubernetes/src/read-objects';
import { SelectedNamespaces } from '../../../packages/kubernetes/src/selected-namespaces';
import { StoredObjects } from '../../../packages/kubernetes/src/stored-objects';
import { countWork } from '../../support/count-work';
import { FakeClock } from '../../support/fake-clock';
import {
  grantJson,
  nodeJson,
  routeJson,
  serviceJson,
  sliceJson,
} from '../../support/kubernetes-objects';

function read(kind: ObjectKind, json: object): KubernetesObject {
  const object = readObjectOf(kind, json);
  if (!object.ok) throw new Error(object.error.violations.join());
  if (object.value.kind === 'Namespace') throw new Error('not stored');
  return object.value;
}

function createStore() {
  const clock = new FakeClock();
  const store = new StoredObjects(clock);
  const changes: ObjectChange[] = [];
  store.watch((change) => void changes.push(change));
  store.open();
  const take = () => {
    clock.advance(1);
    const all = changes.splice(0);
    return all.map(({ services, routes }) => [[...services].sort(), [...routes].sort()]);
  };
  take();
  const put = (kind: ObjectKind, json: object) => store.put(read(kind, json));
  return { store, put, take };
}

it('reports the changes of a turn together, and nothing if nothing has changed', () => {
  const { store, put, take } = createStore();
  put('Service', serviceJson('a'));
  put('Service', serviceJson('b'));
  put('EndpointSlice', sliceJson('b-1', 'b', ['10.0.0.1']));
  expect(take()).toEqual([[['shop/a', 'shop/b'], []]]);
  put('Service', serviceJson('a', { version: 2 }));
  put('EndpointSlice', sliceJson('b-1', 'b', ['10.0.0.1'], { version: 7 }));
  store.delete('Service', 'shop/none');
  expect(take()).toEqual([]);
  store.delete('Service', 'shop/a');
  expect(take()).toEqual([[['shop/a'], []]]);
});

it('has the slices of a service in the order of their names, whichever came first', () => {
  const { store, put } = createStore();
  for (const name of ['c', 'a', 'b']) put('EndpointSlice', sliceJson(name, 'web', ['10.0.0.1']));
  put('EndpointSlice', sliceJson('a', 'web', ['10.0.0.9'], { version: 2 }));
  const slices = store.slicesOf('shop/web');
  expect(slices.map(({ meta }) => meta.name)).toEqual(['a', 'b', 'c']);
  expect(slices[0]?.endpoints[0]?.address).toBe('10.0.0.9');
  expect(store.slicesOf('shop/web')).toBe(slices);
});

it('moves a slice with its label, which concerns both services', () => {
  const { store, put, take } = createStore();
  put('EndpointSlice', sliceJson('x', 'a', ['10.0.0.1']));
  take();
  put('EndpointSlice', sliceJson('x', 'b', ['10.0.0.1'], { version: 2 }));
  expect(take()).toEqual([[['shop/a', 'shop/b'], []]]);
  expect([store.slicesOf('shop/a').length, store.slicesOf('shop/b').length]).toEqual([0, 1]);
});

it('reports a changed zone of a node for the services with endpoints on it, and no other change', () => {
  const { store, put, take } = createStore();
  const on = (nodeName: string) => ({ addresses: ['10.0.0.1'], nodeName });
  put('Node', nodeJson('n1', 'z1'));
  put('EndpointSlice', sliceJson('a-1', 'a', [on('n1'), on('n2')]));
  put('EndpointSlice', sliceJson('b-1', 'b', [on('n2')]));
  take();
  put('Node', nodeJson('n1', 'z1', 2));
  expect(take()).toEqual([]);
  put('Node', nodeJson('n1', 'z2', 3));
  expect(take()).toEqual([[['shop/a'], []]]);
  put('EndpointSlice', sliceJson('a-1', 'a', [on('n2')], { version: 2 }));
  take();
  store.delete('Node', 'n1');
  expect(take()).toEqual([[[], []]]);
});

it('reports a route for its parents, those before among them, but not for its status', () => {
  const { store, put, take } = createStore();
  const route = routeJson('r', 'a', ['b']);
  put('GRPCRoute', route);
  expect(take()).toEqual([[['shop/a'], ['shop/r']]]);
  expect(store.routesOf('shop/a')).toHaveLength(1);
  put('GRPCRoute', { ...route, status: { parents: [] } });
  expect(take()).toEqual([[[], ['shop/r']]]);
  put('GRPCRoute', routeJson('r', 'c', ['b'], { version: 2 }));
  expect(take()).toEqual([[['shop/a', 'shop/c'], ['shop/r']]]);
  expect([store.routesOf('shop/a').length, store.routesOf('shop/c').length]).toEqual([0, 1]);
  store.delete('GRPCRoute', 'shop/r');
  expect(take()).toEqual([[['shop/c'], ['shop/r']]]);
});

it('reports a service for the routes that refer to it, and their parents', () => {
  const { put, take } = createStore();
  put('GRPCRoute', routeJson('r', 'a', ['lab/b']));
  take();
  put('Service', serviceJson('b', { namespace: 'lab' }));
  expect(take()).toEqual([[['lab/b', 'shop/a'], ['shop/r']]]);
  put('Service', serviceJson('a'));
  expect(take()).toEqual([[['shop/a'], ['shop/r']]]);
});

it('reports a grant for the routes with a backend in its namespace', () => {
  const { store, put, take } = createStore();
  put('GRPCRoute', routeJson('r', 'a', ['lab/b']));
  put('GRPCRoute', routeJson('own', 'b', ['b'], { namespace: 'lab' }));
  take();
  put('ReferenceGrant', grantJson('g', 'lab', 'shop'));
  expect(take()).toEqual([[['shop/a'], ['shop/r']]]);
  expect(store.grantsIn('lab')).toHaveLength(1);
  store.delete('ReferenceGrant', 'lab/g');
  expect(take()).toEqual([[['shop/a'], ['shop/r']]]);
  expect(store.grantsIn('lab')).toEqual([]);
});

it('finds references in mirrors, and none in what refers to something else', () => {
  const { store, put, take } = createStore();
  put('GRPCRoute', {
    metadata: { name: 'r', namespace: 'shop' },
    spec: {
      parentRefs: [{ name: 'gateway' }, { kind: 'Service', name: 'no-group' }, 7, null],
      rules: [
        {
          filters: [{ requestMirror: { backendRef: { name: 'm1' } } }, { type: 'x' }],
          backendRefs: [
            { name: 'b', filters: [{ requestMirror: { backendRef: { name: 'm2' } } }] },
            { group: 'x', kind: 'Other', name: 'o' },
            'text',
          ],
        },
        'text',
      ],
    },
  });
  take();
  const concerned = ['b', 'm1', 'm2', 'o', 'gateway', 'no-group'].filter((name) => {
    put('Service', serviceJson(name));
    return take()[0]?.[1]?.length === 1;
  });
  expect(concerned).toEqual(['b', 'm1', 'm2']);
  expect(store.routesOf('shop/gateway')).toEqual([]);
});

it('does as much for one change among 2,000 services with 20,000 endpoints as among 20', () => {
  const measure = (serviceCount: number) => {
    const { put, store, take } = createStore();
    for (let i = 0; i < serviceCount; i++) {
      put('Service', serviceJson(`s${i}`));
      const endpoints = Array.from({ length: 10 }, (_, n) => ({
        addresses: [`10.${i >> 8}.${i & 255}.${n}`],
        nodeName: `n${i}`,
      }));
      put('EndpointSlice', sliceJson(`s${i}-1`, `s${i}`, endpoints));
      put('Node', nodeJson(`n${i}`, 'z1'));
      put('GRPCRoute', routeJson(`r${i}`, `s${i}`, [`s${i}`]));
    }
    take();
    const changes: [ObjectKind, object][] = [
      ['EndpointSlice', sliceJson('s1-1', 's1', ['10.0.0.1'], { version: 2 })],
      ['EndpointSlice', sliceJson('s1-1', 's1', [{ addresses: ['10.0.0.1'], nodeName: 'n1' }])],
      ['Node', nodeJson('n1', 'z2')],
      ['Service', serviceJson('s1', {}, { sessionAffinity: 'ClientIP' })],
      ['GRPCRoute', routeJson('r1', 's2', ['s1'])],
      ['ReferenceGrant', grantJson('g', 'shop', 'lab')],
    ];
    const objects = changes.map(([kind, json]) => read(kind, json));
    return objects.map((object) =>
      countWork(() => {
        store.put(object);
        take();
        store.slicesOf('shop/s1');
        store.routesOf('shop/s1');
      }),
    );
  };
  expect(measure(2000)).toEqual(measure(20));
});

describe('selected namespaces', () => {
  it('hold back the objects of the others', () => {
    const { store, take } = createStore();
    const gate = new SelectedNamespaces(store);
    const put = (kind: ObjectKind, json: object) => gate.put(read(kind, json));
    gate.select('shop');
    put('Service', serviceJson('a'));
    put('Service', serviceJson('a', { namespace: 'lab' }));
    put('Node', nodeJson('n', 'z'));
    expect([[...store.services.keys()], store.nodes.size]).toEqual([['shop/a'], 1]);
    take();
    gate.select('lab');
    gate.unselect('shop');
    gate.delete('Node', 'n');
    expect([[...store.services.keys()], store.nodes.size]).toEqual([['lab/a'], 0]);
    expect(take()).toEqual([[['lab/a', 'shop/a'], []]]);
    gate.delete('Service', 'shop/a');
    gate.select('shop');
    expect([...store.services.keys()]).toEqual(['lab/a']);
  });
});
