import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ServedAddress } from '../../src/server/served-address';
import { eventually } from '../support/eventually';
import {
  callServer,
  inlineRoutes,
  openStream,
  serverChain,
  useServerWorld,
} from '../support/xds-server-world';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

const world = useServerWorld();
/** Of the listeners that were served, in their order, the filter chain. */
const served: WeakRef<object>[] = [];
const { onServing } = ServedAddress.prototype;

beforeEach(() => {
  served.length = 0;
  ServedAddress.prototype.onServing = function (listener) {
    const [chain] = listener.filterChains;
    if (chain !== undefined) served.push(new WeakRef(chain));
    onServing.call(this, listener);
  };
});

afterEach(() => {
  ServedAddress.prototype.onServing = onServing;
});

/** A listener with the routes inside, which differ from those of each other one. */
const listenerOf = (index: number) => {
  const own = { non_forwarding_action: {} };
  const routes = [
    { match: { path: `/only/${index}` }, ...own },
    { match: { prefix: '' }, ...own },
  ];
  return world.listener([serverChain(inlineRoutes(routes))]);
};

const isKept = async () => {
  // In a worker that has run other files, each takes 0.2 s.
  await sleep(200);
  gc();
  return served.map((each) => each.deref() !== undefined);
};

it.each([
  ['at once', 0],
  ['with a jitter of an hour', 3_600_000],
])(
  'keeps no listener before the last one for streams that stay open, drained %s',
  async (_when, drainJitterMs) => {
    const server = world.server({ drainJitterMs });
    world.serve([listenerOf(0)]);
    await world.bind(server);
    const streams = [];
    for (let index = 0; index < 4; index++) {
      if (index > 0) world.serve([listenerOf(index)]);
      await eventually(() => served.length, index + 1);
      const client = world.client();
      expect(await callServer(client)).toBe('OK');
      streams.push(openStream(client));
    }
    const last = drainJitterMs === 0 ? [false, true] : [true, true];
    await eventually(
      isKept,
      (kept) => JSON.stringify(kept) === JSON.stringify([false, false, ...last]),
    );
    for (const stream of streams) {
      stream.write(Buffer.from('still'));
      expect(String((await once(stream, 'data'))[0])).toBe('still');
      stream.on('error', () => undefined).cancel();
    }
  },
);

it('keeps no connection that has closed, not even the one with the last call', async () => {
  const accepted: WeakRef<Socket>[] = [];
  const onAccepted = (event: unknown) => {
    const { socket } = event as { readonly socket: Socket };
    if (socket.localPort === world.port) accepted.push(new WeakRef(socket));
  };
  subscribe('net.server.socket', onAccepted);
  try {
    world.serve([world.listener()]);
    await world.bind(world.server());
    const client = world.client();
    expect(await callServer(client)).toBe('OK');
    client.close();
    expect(accepted.length).toBe(1);
    await eventually(() => {
      gc();
      return accepted.filter((socket) => socket.deref() !== undefined).length;
    }, 0);
  } finally {
    unsubscribe('net.server.socket', onAccepted);
  }
});
