import { clusterManagerPolicy } from '../../src/lb/cluster-manager/balancer';
import { leastRequestPolicy } from '../../src/lb/least-request/balancer';
import type { LbHost, LbPolicyType } from '../../src/lb/lb-policy';
import type { EchoBackend, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { bootstrapFor, Mesh, VARIANTS, type MeshResources, registerAnew } from '../support/mesh';
import '../support/quiet-grpc';
import type { Json } from '../support/xds-json';
import { runModule } from './run-module';
import { cdsPolicy } from '../support/lb-policies';

const PORT = 7070;
const PATIENCE_MS = 60_000;

/** What istiod would send for services, as the interoperability case of that name has it. */
async function generate(services: readonly Json[], push: number): Promise<MeshResources> {
  const made = await runModule(`
    import { istioResources } from './interop/harness/istio.mjs';
    answer(istioResources(${JSON.stringify(services)}, ${push}));
  `);
  if (!isMeshResources(made)) throw new Error('not resources');
  return made;
}

/** What is in the bootstrap that Istio's agent writes besides the servers. */
async function istioAgentParts(): Promise<object> {
  const parts = await runModule(`
    import { istioCertificates, istioNode } from './interop/harness/istio.mjs';
    answer({ node: istioNode, certificate_providers: istioCertificates });
  `);
  if (typeof parts !== 'object' || parts === null) throw new Error('not an object');
  return parts;
}

function isMeshResources(value: unknown): value is MeshResources {
  return typeof value === 'object' && value !== null && 'endpoints' in value;
}

/** Counts how often policies of a type are given something to do. */
function countUpdates(type: LbPolicyType): () => number {
  let count = 0;
  const create = type.create.bind(type);
  jest.spyOn(type, 'create').mockImplementation((host: LbHost) => {
    const policy = create(host);
    const update = policy.update.bind(policy);
    policy.update = (...args) => {
      count++;
      update(...args);
    };
    return policy;
  });
  return () => count;
}

const LEVELS = [
  ['the root', clusterManagerPolicy],
  ['the clusters', cdsPolicy],
  ['least_request', leastRequestPolicy],
] as const;

describe.each(VARIANTS.slice(0, 2))('a mesh as istiod describes it: %s', (_, features) => {
  let mesh: Mesh;
  let backends: readonly EchoBackend[];
  let client: EchoClient;
  let counters: readonly (readonly [string, () => number])[];
  let pushes = 0;

  const entry = (service: string, own: readonly EchoBackend[], extra: Json = {}): Json => ({
    service,
    port: PORT,
    address: '10.96.0.7',
    endpoints: own.map(({ port }) => ({ port })),
    ...extra,
  });
  const services = (): readonly Json[] => [
    entry('orders', backends.slice(0, 2)),
    entry('billing', backends.slice(2), { subset: 'v1', isSecure: true, address: '10.96.0.8' }),
  ];
  const accepted = (): readonly unknown[] =>
    mesh.controlPlane
      .clients()
      .flatMap(({ types }) => [...types.values()].map(({ ackedVersion }) => ackedVersion));

  /** Sends all of it with another version, and waits until the client has accepted it. */
  const push = async (list: readonly Json[]): Promise<void> => {
    const resources = await generate(list, ++pushes);
    const before = accepted();
    mesh.serve(resources);
    await eventually(
      accepted,
      (versions) => versions.every((version, i) => version !== before[i]),
      PATIENCE_MS,
    );
  };
  const counts = (): Record<string, number> =>
    Object.fromEntries(counters.map(([level, count]) => [level, count()]));
  const answersOf = async (calls: number): Promise<readonly string[]> => {
    const answers = new Set<string>();
    for (let i = 0; i < calls; i++) answers.add(await client.say({ deadlineMs: PATIENCE_MS }));
    return [...answers].sort();
  };

  beforeAll(async () => {
    mesh = await Mesh.start(features);
    counters = LEVELS.map(([level, type]) => [level, countUpdates(type)]);
    registerAnew({
      bootstrap: { ...bootstrapFor(mesh.address, features), ...(await istioAgentParts()) },
    });
    backends = await Promise.all(['a', 'b', 'c'].map((name) => mesh.backend(name)));
    mesh.serve(await generate(services(), pushes));
    client = mesh.client({}, `xds:///orders.shop.svc.cluster.local:${PORT}`);
    await eventually(
      () => answersOf(20),
      (answers) => answers.join() === 'a,b',
      PATIENCE_MS,
    );
  }, 2 * PATIENCE_MS);

  afterAll(() => {
    mesh.stop();
    jest.restoreAllMocks();
  });

  it(
    'is accepted as a whole, clusters with certificates in old fields and new ones among it',
    async () => {
      const other = mesh.client({}, `xds:///billing.shop.svc.cluster.local:${PORT}`);
      expect(await other.say({ deadlineMs: PATIENCE_MS })).toBe('c');
      const types = mesh.controlPlane.clients().flatMap((state) => [...state.types.values()]);
      expect(types.map(({ rejection }) => rejection)).toEqual([
        undefined,
        undefined,
        undefined,
        undefined,
      ]);
    },
    PATIENCE_MS,
  );

  it(
    'costs no load-balancing work when everything is generated again as it was',
    async () => {
      const before = counts();
      for (let i = 0; i < 3; i++) await push(services());
      expect(await answersOf(20)).toEqual(['a', 'b']);
      expect(counts()).toEqual(before);
    },
    PATIENCE_MS,
  );

  it(
    'costs work once when one service changes, though the other is sent again, too',
    async () => {
      const before = counts();
      const [, billing] = services();
      await push([entry('orders', backends.slice(0, 1)), billing ?? {}]);
      await eventually(
        () => answersOf(20),
        (answers) => answers.join() === 'a',
        PATIENCE_MS,
      );
      expect(counts().least_request).toBe((before.least_request ?? 0) + 1);
    },
    2 * PATIENCE_MS,
  );

  it('opens no other connections for all that', () => {
    expect(backends.map(({ peers }) => peers.size)).toEqual([1, 1, 1]);
  });
});
