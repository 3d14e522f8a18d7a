// Clients of several implementations behind `grpc-xds relay`, and go-control-plane above it.
import { anyRoute } from '../harness/resources.mjs';
import { runSteps, NODE, service, Setup } from './go-control-plane.mjs';
import { isOnly, noneFailed, until } from './judging.mjs';
import { opaqueResource, randomFrom, TYPES } from './opaque-resources.mjs';
import { receiveAll } from './raw-client.mjs';

const CLIENTS = ['node', 'node-delta', 'go', 'python', 'java'];

/**
 * By cache: where the relay listens, and which clients connect there. Not grpc-java 1.75 to a socket: it sends the path as
 * `:authority`, which HTTP/2 of Node.js rejects (https://github.com/grpc/grpc-java/issues/12664).
 */
const PLACES = {
  snapshot: { listen: undefined, clients: CLIENTS.filter((name) => name !== 'java') },
  linear: { listen: '127.0.0.1:0', clients: CLIENTS },
};

/** By the variant of the relay's stream at the control plane: the features of its server. */
const VARIANTS = { sotw: [], delta: ['grpc_xds_delta'] };

/** The clients whose rejections have a text of their own. Those of this package have the same, of which one is passed on. */
const rejecting = (names) => names.filter((name) => name !== 'node-delta');

const passesRejectionsOn = async ({ setup, servers: [a] }) => {
  const routes = [anyRoute('one')];
  await setup.serve(service({ one: [a] }, routes, { lb_policy: 'MAGLEV' }));
  const nodes = (texts, name) => texts.some((text) => text.includes(`node "${name}`));
  await until(
    () => setup.seen(),
    ({ rejections }) => rejecting(setup.names).every((name) => nodes(rejections, name)),
    `rejections of ${rejecting(setup.names).join(', ')}`,
  );
  await setup.callOnly(10, [a.name]);
  await setup.serve(service({ one: [a] }, routes));
  await setup.untilOnly([a.name]);
};

const CALLS = 25;

const addsUpLoads = async ({ setup, servers: [a, b] }) => {
  const reported = { lrs_server: { self: {} } };
  await setup.serve(service({ one: [a], loads: [b] }, [anyRoute('one')], reported));
  await setup.serve(service({ one: [a], loads: [b] }, [anyRoute('loads')], reported));
  let made = 0;
  const callAll = async () => {
    const all = await setup.call(CALLS, noneFailed, 'no failure');
    for (const { peers } of all) made += peers[b.name] ?? 0;
    return all;
  };
  await until(callAll, (all) => all.every((counts) => isOnly([b.name], counts)), b.name);
  const { streams } = await until(
    () => setup.controlPlane.ask({ do: 'loads' }),
    ({ calls: { loads } }) => loads?.issued >= made && loads.succeeded >= made,
    `reports of ${made} calls`,
  );
  const { calls } = await setup.controlPlane.ask({ do: 'loads' });
  const expected = { issued: made, succeeded: made, failed: 0 };
  if (JSON.stringify(calls.loads) !== JSON.stringify(expected) || streams !== 1) {
    const got = JSON.stringify({ streams, loads: calls.loads });
    throw new Error(`expected one stream with ${JSON.stringify(expected)}, got ${got}`);
  }
};

const hasOneStream = async ({ setup, variant }) => {
  const seen = await setup.seen();
  if (seen[variant] !== 1) throw new Error(JSON.stringify(seen));
};

/** Besides those of clients without a relay. */
const STEPS = {
  'the rejection of each implementation arrives with its node': passesRejectionsOn,
  'loads add up to the calls of all clients': addsUpLoads,
  'the control plane has one stream': hasOneStream,
};

const runBehindRelay = async ({ peers, servers, step, available }, { cache, variant }) => {
  let relay;
  const { listen, clients } = PLACES[cache];
  const setup = new Setup(peers, {
    cache,
    clients: clients.filter((name) => available.has(name)),
    nodeOf: (name) => name,
    hop: async (address) => {
      relay = await peers.relay(address, { node: NODE, features: VARIANTS[variant], listen });
      return relay.address;
    },
  });
  try {
    await setup.start();
    await runSteps({ setup, servers, step, variant });
    for (const [name, run] of Object.entries(STEPS)) {
      await step(name, () => run({ setup, servers, variant }));
    }
  } catch (error) {
    error.stack += `\nthe relay wrote:\n${relay?.process.output}`;
    throw error;
  } finally {
    await setup.stop();
    await relay?.stop();
  }
};

const RESOURCES_OF_TYPE = 100;

/** Compares what clients behind a relay receive with the bytes that go-control-plane has. */
const comparesBytes = async ({ peers, step, seed }, { variant }) => {
  const controlPlane = await peers.goControlPlane('linear');
  const options = { features: VARIANTS[variant] };
  const relay = await peers.relay(`127.0.0.1:${controlPlane.greeting.port}`, options);
  const random = randomFrom(seed);
  const names = Array.from({ length: RESOURCES_OF_TYPE }, (_, index) => `resource-${index}`);
  const sent = TYPES.map((type) => ({
    type,
    values: names.map((name) => opaqueResource(random, name)),
  }));
  try {
    const raw = sent.flatMap(({ type: typeUrl, values }) =>
      values.map((value, i) => ({ typeUrl, name: names[i], value: value.toString('base64') })),
    );
    await controlPlane.ask({ do: 'raw', raw });
    for (const below of Object.keys(VARIANTS)) {
      await step(`${below} below: the bytes are the same`, async () => {
        const namesByType = new Map(TYPES.map((type) => [type, names]));
        const received = await receiveAll(relay.address, below, namesByType);
        for (const { type, values } of sent) {
          const missing = values.filter((value) => !received.get(type).has(value.toString('hex')));
          if (missing.length === 0 && received.get(type).size === values.length) continue;
          throw new Error(`${type}: ${missing.length} differ: ${missing[0]?.toString('hex')}`);
        }
      });
    }
  } finally {
    await relay.stop();
    await controlPlane.stop();
  }
};

const bytesCases = Object.keys(VARIANTS).map((variant) => ({
  name: `relay below go-control-plane: bytes without a schema, ${variant}`,
  languages: ['go'],
  run: (context) => comparesBytes(context, { variant }),
}));

/** The two others have each cache and each variant, too. */
const VARIATIONS = ['snapshot cache, sotw', 'linear cache, delta'];

const stepCases = Object.keys(PLACES).flatMap((cache) =>
  Object.keys(VARIANTS).map((variant) => ({
    name: `relay below go-control-plane: ${cache} cache, ${variant}`,
    languages: ['go'],
    isVariation: VARIATIONS.includes(`${cache} cache, ${variant}`),
    run: (context) => runBehindRelay(context, { cache, variant }),
  })),
);

export const relayCases = [...stepCases, ...bytesCases];
