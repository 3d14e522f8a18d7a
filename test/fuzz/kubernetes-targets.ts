import { isDeepStrictEqual } from 'node:util';
import { Reflector } from '../../packages/kubernetes/src/api/reflector';
import { WATCHED_RESOURCES } from '../../packages/kubernetes/src/api/watched-kinds';
import { keyOf } from '../../packages/kubernetes/src/object-key';
import type { KubernetesObject } from '../../packages/kubernetes/src/objects';
import { readObjectOf } from '../../packages/kubernetes/src/read-objects';
import { StoredObjects } from '../../packages/kubernetes/src/stored-objects';
import { toApiJson } from '../../packages/kubernetes/src/write-objects';
import { parseBoundedJson } from '../../src/util/bounded-json';
import type { Random } from '../../src/util/random';
import { TimeSlices } from '../../src/util/time-slices';
import { FakeClock } from '../support/fake-clock';
import { FakeKubernetesApi } from '../support/fake-kubernetes-api';
import {
  grantJson,
  nodeJson,
  routeJson,
  serviceJson,
  sliceJson,
} from '../support/kubernetes-objects';
import type { JsonMutations } from './json-mutations';
import type { FuzzTarget } from './targets';

const endpoint = {
  addresses: ['10.0.0.1'],
  nodeName: 'n',
  zone: 'z',
  targetRef: { uid: 'u' },
  conditions: { ready: false, serving: true, terminating: true },
  hints: { forZones: [{ name: 'z' }], forNodes: [{ name: 'n' }] },
};

const samples: Readonly<Record<KubernetesObject['kind'], object>> = {
  Service: serviceJson(
    'a',
    { annotations: { a: 'b' } },
    { clusterIP: 'None', ipFamilies: ['IPv4'] },
  ),
  EndpointSlice: sliceJson('a-1', 'a', ['10.0.0.2', endpoint]),
  Node: nodeJson('n', 'z'),
  GRPCRoute: routeJson('r', 'a', ['b', 'lab/c']),
  ReferenceGrant: grantJson('g', 'lab', 'shop'),
};

interface KubernetesTargetOptions {
  readonly random: Random;
  readonly json: JsonMutations;
}

/** What the API server of a Kubernetes cluster sends: objects, and the events of watches. */
export function createKubernetesTargets({
  random,
  json,
}: KubernetesTargetOptions): readonly FuzzTarget[] {
  const pickResource = () => {
    const resource = WATCHED_RESOURCES[Math.floor(random() * WATCHED_RESOURCES.length)];
    if (resource === undefined) throw new Error('no kinds');
    return resource;
  };
  let resource = pickResource();
  const sampleOf = () => {
    resource = pickResource();
    return resource.kind === 'Namespace' ? {} : samples[resource.kind];
  };
  return [
    {
      name: 'Kubernetes object',
      share: 2,
      maxMsPerKiB: 10,
      make: () => json.text(sampleOf(), 1000),
      run: (input) => {
        const parsed = parse(Buffer.from(input).toString());
        return parsed === undefined ? undefined : checkObject(resource.kind, parsed);
      },
    },
    {
      name: 'Kubernetes event',
      share: 2,
      maxMsPerKiB: 10,
      make: () => json.text({ type: 'MODIFIED', object: sampleOf() }, 1000),
      run: (input) => {
        const parsed = parse(Buffer.from(input).toString());
        return parsed === undefined ? undefined : checkEvent(parsed);
      },
    },
  ];
}

function parse(text: string): unknown {
  try {
    return parseBoundedJson(text, { maxLength: Infinity, maxValues: 1_000_000 });
  } catch {
    return undefined;
  }
}

/** An object that is read can be saved, read again as it was, stored and deleted. */
function checkObject(
  kind: KubernetesObject['kind'] | 'Namespace',
  json: unknown,
): string | undefined {
  const object = readObjectOf(kind, json);
  if (!object.ok) {
    const { violations } = object.error;
    return violations.length > 0 && violations.every((text) => text.length < 5000)
      ? undefined
      : 'no reason, or one that is too long';
  }
  if (object.value.kind === 'Namespace') return undefined;
  const saved: unknown = JSON.parse(JSON.stringify(toApiJson(object.value)));
  const again = readObjectOf(kind, saved);
  if (!again.ok) return `cannot be read again: ${again.error.violations.join('; ')}`;
  if (!isDeepStrictEqual(again.value, object.value)) return 'is not the same when it is read again';
  const store = new StoredObjects(new FakeClock());
  store.put(object.value);
  store.delete(object.value.kind, keyOf(object.value.meta));
  return [...store.all()].length === 0 ? undefined : 'is left after it was deleted';
}

/** An event is taken, or the objects are listed again. */
function checkEvent(json: unknown): string | undefined {
  const clock = new FakeClock();
  const api = new FakeKubernetesApi();
  const [resource] = WATCHED_RESOURCES;
  if (resource === undefined) return 'no kinds';
  const ignore = () => {};
  const reflector = new Reflector({
    api,
    resource,
    known: [],
    clock,
    random: () => 0.5,
    timeSlices: new TimeSlices(clock),
    listener: {
      onObject: ignore,
      onDeleted: ignore,
      onListed: ignore,
      onUnreadable: ignore,
      onFailure: ignore,
      onWorking: ignore,
    },
  });
  reflector.start();
  api.onlyCall().list('10', [serviceJson('a')]);
  clock.advance(10);
  api.onlyWatch().listener.onEvent(json);
  clock.advance(1_000_000);
  const [watches, calls] = [api.watches().length, api.calls().length];
  return watches + calls === 1 ? undefined : `${watches} watches and ${calls} lists`;
}
