// A mesh as istiod describes it to proxyless nodes.
import { hostOf, istioCertificates, istioNode, istioResources } from '../harness/istio.mjs';
import {
  allOf,
  describeStats,
  isOnly,
  noneFailed,
  untilOnly,
  verdict,
} from '../harness/verdict.mjs';
import { pollUntil } from '../harness/waiting.mjs';

const PUSHES = 5;
/** What each client has accepted of each type. */
const acceptedBy = (mesh) =>
  mesh.controlPlane
    .clients()
    .flatMap(({ types }) => [...types.values()].map(({ ackedVersion }) => ackedVersion));

/** Sends everything again, and waits until the clients have accepted it all. */
const push = async (mesh, services, number) => {
  const before = acceptedBy(mesh);
  mesh.serve(istioResources(services, number));
  const isNew = (versions) => versions.every((version, i) => version !== before[i]);
  return isNew(await pollUntil(() => acceptedBy(mesh), isNew));
};

const regeneration = {
  name: 'istio: everything is generated anew on each change',
  expect: `calls of 2 services succeed; ${PUSHES} times the same again change nothing in the channels; what does change is followed`,
  async run(mesh) {
    const servers = await mesh.servers(4);
    const port = 7070;
    const entry = (service, its, extra) => ({
      service,
      port,
      address: '10.96.0.7',
      endpoints: its.map((s) => ({ port: s.port })),
      ...extra,
    });
    const [orders, billing] = [servers.slice(0, 2), servers.slice(2)];
    const services = [
      entry('orders', orders),
      entry('billing', billing, { subset: 'v1', isSecure: true, address: '10.96.0.8' }),
    ];
    mesh.serve(istioResources(services, 0));
    const node = { node: istioNode, certificate_providers: istioCertificates };
    const targetOf = (service) => `xds:///${hostOf(service)}:${port}`;
    const client = await mesh.client({ server: targetOf('orders'), qps: 50 }, node);
    const other = await mesh.client({ server: targetOf('billing'), qps: 50 }, node);
    const steps = [await untilOnly(client, orders, 50), await untilOnly(other, billing, 50)];
    const before = await client.channelEvents(hostOf('orders'));
    let isAccepted = true;
    for (let i = 1; i <= PUSHES; i++) isAccepted &&= await push(mesh, services, i);
    const stats = await client.stats(50);
    const after = await client.channelEvents(hostOf('orders'));
    const same = isAccepted && isOnly(orders)(stats) && after === before;
    steps.push(
      verdict(same, `${after - before} events in ${PUSHES} pushes, ${describeStats(stats)}`),
    );
    services[0] = entry('orders', orders.slice(0, 1));
    await push(mesh, services, PUSHES + 1);
    steps.push(await untilOnly(client, orders.slice(0, 1), 50));
    const changed = (await client.channelEvents(hostOf('orders'))) - after;
    steps.push(verdict(changed > 0, `${changed} events for a change`));
    return allOf(...steps, await noneFailed(client), await noneFailed(other));
  },
};

export const cases = [regeneration];
