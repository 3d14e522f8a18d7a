import { inspect, type LogRecord } from '../../src';
import type { ClientEvent } from '../../src/control-plane';
import { eventually } from '../support/eventually';
import { bootstrapFor, useMesh, simpleResources, registerAnew } from '../support/mesh';
import { FastClock } from '../support/fast-clock';
import { IstioAgent } from '../support/imitated-istiod';

describe('several processes behind an agent that keeps one stream', () => {
  const records: LogRecord[] = [];
  let streams = 0;
  let clock: FastClock;
  const mesh = useMesh({
    controlPlane: {
      onClientEvent: ({ kind }: ClientEvent) => {
        if (kind === 'connected') streams++;
      },
    },
    type: IstioAgent,
  });

  beforeEach(() => {
    // The pauses between their streams are up to 10 s long.
    clock = new FastClock(5);
    [records.length, streams] = [0, 0];
    registerAnew({
      bootstrap: bootstrapFor(mesh.address),
      logger: { log: (record) => void records.push(record) },
    });
  });
  afterEach(() => {
    clock.stop();
    registerAnew({});
  });

  it('go on with the configuration that they have, and say once what is seen', async () => {
    mesh.serve(simpleResources([(await mesh.backend('b')).port]));
    // A process is a bootstrap: each has a stream of its own.
    const clients = ['one', 'two', 'three', 'four'].map((id) => {
      const bootstrap = { ...bootstrapFor(mesh.address), node: { id } };
      return mesh.client({ 'grpc_xds.bootstrap': JSON.stringify(bootstrap) });
    });
    const answers = await eventually(
      () => Promise.all(clients.map((client) => client.say())),
      () => inspect().targets.every(({ servers }) => servers.some((one) => one.shortStreams >= 3)),
      30_000,
    );
    expect(answers).toEqual(['b', 'b', 'b', 'b']);
    expect(streams).toBeLessThanOrEqual(16);
    const cut = records.filter(({ event }) => event === 'streams-cut');
    expect(cut).toHaveLength(4);
    // How long they wait for their first resources depends on the machine.
    const others = records.filter((record) => record.level === 'error' && !cut.includes(record));
    expect(others.filter(({ event }) => event !== 'resource-waiting')).toEqual([]);
  });
});
