import { logVerbosity, setLogger, setLogVerbosity } from '@grpc/grpc-js';
import { XdsDependencyManager } from '../../src/dependency-manager/dependency-manager';
import { ClusterSubscription } from '../../src/lb/cds/balancer';
import { LazyChild } from '../../src/lb/cds/lazy-child';
import { ClusterCalls } from '../../src/lb/cluster-impl/endpoint-calls';
import { ClusterImplPicker } from '../../src/lb/cluster-impl/picker';
import { ClusterManagerPicker } from '../../src/lb/cluster-manager/balancer';
import { ConnectedEndpoints } from '../../src/lb/endpoints/connected-endpoints';
import { Child, SwitchingChild } from '../../src/lb/tree/child';
import { GrpcJsRoot } from '../../src/lb/tree/grpc-js-root';
import { LrsStream } from '../../src/xds-client/lrs/lrs-stream';
import { ServerLoads } from '../../src/xds-client/lrs/cluster-load';
import { XdsConfigSelector } from '../../src/resolver/config-selector';
import { Violations } from '../../src/util/violations';
import { Watch } from '../../src/xds-client/watched-resource';
import { eventually } from '../support/eventually';
import { SERVICE, type MeshResources, useMesh } from '../support/mesh';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
} from '../support/xds-json';

interface Seam {
  readonly name: string;
  readonly target: object;
  readonly method: string;
  /** Whether it is used by calls, one of which may fail. */
  readonly isOfCalls?: boolean;
}

const seams: readonly Seam[] = [
  { name: 'a parser', target: Violations.prototype, method: 'at' },
  { name: 'a watcher', target: Watch.prototype, method: 'notify' },
  { name: 'the config', target: XdsDependencyManager.prototype, method: 'update' },
  { name: 'the root of the policies', target: GrpcJsRoot.prototype, method: 'updateAddressList' },
  { name: 'a subscription to a cluster', target: ClusterSubscription.prototype, method: 'update' },
  { name: 'a lazy child', target: LazyChild.prototype, method: 'update' },
  { name: 'a child whose policy may change', target: SwitchingChild.prototype, method: 'update' },
  { name: 'a child policy', target: Child.prototype, method: 'update' },
  { name: 'the calls of a cluster', target: ClusterCalls.prototype, method: 'update' },
  { name: 'a leaf policy', target: ConnectedEndpoints.prototype, method: 'update' },
  { name: 'a picker', target: ClusterImplPicker.prototype, method: 'pick', isOfCalls: true },
  {
    name: 'the root picker',
    target: ClusterManagerPicker.prototype,
    method: 'pick',
    isOfCalls: true,
  },
  { name: 'the routing', target: XdsConfigSelector.prototype, method: 'invoke', isOfCalls: true },
  { name: 'load reports', target: ServerLoads.prototype, method: 'acquire' },
  { name: 'the stream of load reports', target: LrsStream.prototype, method: 'update' },
];

/** Throws once, the next time a method is called. */
function breakOnce({ target, method }: Seam): { uses: () => number; restore: () => void } {
  const descriptor = Object.getOwnPropertyDescriptor(target, method);
  if (descriptor === undefined) throw new Error(`there is no ${method}`);
  const original: unknown = descriptor.value;
  let uses = 0;
  Object.defineProperty(target, method, {
    ...descriptor,
    value(this: unknown, ...args: unknown[]): unknown {
      if (uses++ === 0) throw new Error('broken on purpose');
      return typeof original === 'function' ? Reflect.apply(original, this, args) : undefined;
    },
  });
  return { uses: () => uses, restore: () => Object.defineProperty(target, method, descriptor) };
}

/** Everything for one service with a cluster of its own for each version, whose load is reported. */
function resources(version: number, port: number): MeshResources {
  const name = `echo-${version}`;
  return {
    listeners: [listenerJson(SERVICE)],
    routes: [routeConfigJson(`${SERVICE}-routes`, [routeToCluster(name)])],
    clusters: [edsClusterJson(name, { lrs_server: { self: {} } })],
    endpoints: [endpointsJson(name, [{ zone: 'a', ports: [port] }])],
  };
}

describe('an exception', () => {
  const mesh = useMesh({ controlPlane: { loadReporting: { intervalMs: 100 } } });
  beforeEach(() => {
    setLogVerbosity(logVerbosity.ERROR);
    const fail = () => {
      throw new Error('this logger is broken');
    };
    setLogger({ error: fail, info: fail, debug: fail });
  });
  afterEach(() => {
    setLogger(console);
    setLogVerbosity(logVerbosity.NONE);
  });

  // 1. Calls are served. 2. The seam throws while an update is applied, or calls are made; so does the logger. 3. A good
  // update is acknowledged and in use, and calls are served.
  it.each(seams)(
    'of $name does not keep the next good response from being obeyed',
    async (seam) => {
      const [first, second, third] = [
        await mesh.backend('first'),
        await mesh.backend('second'),
        await mesh.backend('third'),
      ];
      mesh.serve(resources(1, first.port));
      const client = mesh.client();
      expect(await client.say()).toBe('first');
      const answers = new Set<string>();
      const calls: Promise<unknown>[] = [];
      // One may wait until its deadline for a cluster whose policies are broken.
      const call = () => {
        const answered = client.say({ deadlineMs: 500 }).then((answer) => answers.add(answer));
        calls.push(answered.catch(() => undefined));
      };
      const broken = breakOnce(seam);
      try {
        mesh.serve(resources(2, second.port));
        await eventually(() => {
          call();
          return broken.uses() > 0;
        }, true);
        mesh.serve(resources(3, third.port));
        await eventually(() => {
          call();
          return answers.has('third');
        }, true);
        expect(await Promise.all([client.say(), client.say()])).toEqual(['third', 'third']);
      } finally {
        await Promise.all(calls);
        broken.restore();
      }
    },
  );
});
