import { routesOfService } from '../../../packages/kubernetes/src/routes/service-routes';
import { clusterOf } from './cluster';
import { judgeCall } from './reference-routes';
import { ROUTING_CASES, SERVICES, sharesOf, type Outcome, type RoutingCase } from './routing-cases';

/** Where the calls of a case go, judged by the JSON of the routes. */
function judge({ objects, call }: RoutingCase): ReadonlyMap<Outcome, number> {
  const cluster = clusterOf([...SERVICES, ...objects]);
  const front = cluster.services.get('shop/front');
  const [port] = front?.ports ?? [];
  if (front === undefined || port === undefined) throw new Error('no Service');
  const { routes, backends } = routesOfService(cluster, front, port, call.from ?? 'shop');
  if (routes === undefined) return new Map([['front', 1]]);
  const names = new Map(
    backends.map(({ name, namespace, port: number }) => [
      `outbound|${number}||${name}.${namespace}.svc.cluster.local`,
      name,
    ]),
  );
  const shares = judgeCall(routes, call.path, call.headers ?? {});
  return new Map([...shares].map(([target, share]) => [nameOf(target, names), share]));
}

function nameOf(target: Outcome, names: ReadonlyMap<string, string>): Outcome {
  if (typeof target === 'number') return target;
  const name = names.get(target);
  if (name === undefined) throw new Error(`${target} is the cluster of no backend`);
  return name;
}

describe('the routes of a service', () => {
  it('has at least 60 cases of different names', () => {
    const names = new Set(ROUTING_CASES.map(({ name }) => name));
    expect(names.size).toBe(ROUTING_CASES.length);
    expect(ROUTING_CASES.length).toBeGreaterThanOrEqual(60);
  });

  it.each(ROUTING_CASES.map((each) => [each.name, each] as const))('%s', (_name, each) => {
    const judged = judge(each);
    const expected = sharesOf(each);
    expect([...judged.keys()].sort()).toEqual([...expected.keys()].sort());
    for (const [outcome, share] of expected) expect(judged.get(outcome)).toBeCloseTo(share, 5);
  });
});
