import { setTimeout as sleep } from 'node:timers/promises';
import { simpleResources, useMesh } from '../support/mesh';
import { eventually } from '../support/eventually';

describe('a control plane that goes away', () => {
  const mesh = useMesh();

  it('is killed and restarted 20 times under load, and no call fails', async () => {
    const backends = [await mesh.backend('b1'), await mesh.backend('b2')];
    const resources = simpleResources(backends.map((backend) => backend.port));
    mesh.serve(resources);
    const client = mesh.client();
    const answers = new Set<string>();
    await eventually(async () => answers.add(await client.say()).size, 2);
    const failures: string[] = [];
    let calls = 0;
    let running = true;
    const load = (async () => {
      while (running || calls <= 10) {
        calls++;
        await client.say().catch((error: Error) => failures.push(error.message));
      }
    })();
    for (let round = 0; round < 20; round++) {
      mesh.killControlPlane();
      await sleep(20);
      await mesh.restartControlPlane(resources);
      await sleep(20);
    }
    running = false;
    await load;
    expect(failures).toEqual([]);
    for (const backend of backends) expect(backend.peers.size).toBe(1);
  });
});

describe('an update that leaves an endpoint in place', () => {
  const mesh = useMesh();

  it('never closes its connection: 20 changes of a timeout, one connection per backend', async () => {
    const backends = [await mesh.backend('b1'), await mesh.backend('b2')];
    const ports = backends.map((backend) => backend.port);
    mesh.serve(simpleResources(ports));
    const client = mesh.client();
    const answers = new Set<string>();
    await eventually(async () => answers.add(await client.say()).size, 2);
    for (let round = 1; round <= 20; round++) {
      mesh.serve(
        simpleResources(ports, { max_stream_duration: { max_stream_duration: `${round + 5}s` } }),
      );
      await sleep(10);
      for (let i = 0; i < 4; i++) await client.say();
    }
    for (const backend of backends) expect(backend.peers.size).toBe(1);
  });

  it('keeps the connections to the endpoints that stay when others come and go', async () => {
    const stays = await mesh.backend('stays');
    const goes = await mesh.backend('goes');
    mesh.serve(simpleResources([stays.port, goes.port]));
    const client = mesh.client();
    const answers = new Set<string>();
    await eventually(async () => answers.add(await client.say()).size, 2);
    mesh.serve(simpleResources([stays.port]));
    await eventually(
      async () => new Set([await client.say(), await client.say(), await client.say()]),
      (seen) => !seen.has('goes'),
    );
    mesh.serve(simpleResources([stays.port, goes.port]));
    await eventually(() => client.say(), 'goes');
    expect(stays.peers.size).toBe(1);
  });
});
