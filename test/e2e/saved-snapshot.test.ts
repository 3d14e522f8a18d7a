import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../support/eventually';
import { bootstrapFor, SERVICE, simpleResources, registerAnew, useMesh } from '../support/mesh';
import { listenerJson } from '../support/xds-json';

describe('a process that keeps what it was sent', () => {
  const mesh = useMesh();
  let folder: string;
  let snapshotPath: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'grpc-xds-'));
    snapshotPath = join(folder, 'snapshot');
    registerAnew({ bootstrap: bootstrapFor(mesh.address), snapshotPath });
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  /** One client comes and goes; its resources are saved. */
  async function earlierRun(): Promise<void> {
    const backend = await mesh.backend('as saved');
    mesh.serve(simpleResources([backend.port]));
    const client = mesh.client({ 'acme.test': 1 });
    await client.say();
    await eventually(() => existsSync(snapshotPath), true);
    client.close();
    await mesh.untilNoClients();
    mesh.killControlPlane();
  }

  it('can make calls when no server can be reached at its start', async () => {
    await earlierRun();
    await expect(mesh.client({ 'acme.test': 2 }).say()).resolves.toBe('as saved');
  });

  it('keeps the resources of all targets in one file', async () => {
    const backend = await mesh.backend('as saved');
    const resources = simpleResources([backend.port]);
    const other = listenerJson('other.test', `${SERVICE}-routes`);
    mesh.serve({ ...resources, listeners: [...resources.listeners, other] });
    const clients = [1, 2].map((i) =>
      mesh.client({ 'acme.test': i }, i === 1 ? `xds:///${SERVICE}` : 'xds:///other.test'),
    );
    for (const client of clients) await client.say();
    await eventually(
      () => existsSync(snapshotPath) && readFileSync(snapshotPath, 'latin1'),
      (content) => content !== false && content.includes(SERVICE) && content.includes('other.test'),
    );
    for (const client of clients) client.close();
    await mesh.untilNoClients();
    mesh.killControlPlane();
    await expect(mesh.client({ 'acme.test': 3 }).say()).resolves.toBe('as saved');
    const late = mesh.client({ 'acme.test': 3 }, 'xds:///other.test');
    await expect(late.say()).resolves.toBe('as saved');
  });

  it('goes by what the server says as soon as it answers', async () => {
    await earlierRun();
    const client = mesh.client({ 'acme.test': 2 });
    await client.say();
    const other = await mesh.backend('as it is now');
    await mesh.restartControlPlane(simpleResources([other.port]));
    await eventually(() => client.say(), 'as it is now', 30_000);
  });

  it('says in errors what was tried when the file is damaged', async () => {
    await earlierRun();
    const content = readFileSync(snapshotPath);
    writeFileSync(snapshotPath, content.subarray(0, -1));
    await expect(mesh.client({ 'acme.test': 2 }).say()).rejects.toThrow(
      `saved snapshot ${snapshotPath} (stale) cannot be used: the file is damaged`,
    );
  });

  it('says in errors that the file is not used when others may write it', async () => {
    await earlierRun();
    chmodSync(snapshotPath, 0o666);
    await expect(mesh.client({ 'acme.test': 2 }).say()).rejects.toThrow(
      `saved snapshot ${snapshotPath} (stale) cannot be used: can be written by others than its owner`,
    );
  });
});
