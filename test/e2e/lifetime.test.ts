import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bootstrapFor, Mesh, SERVICE, simpleResources } from '../support/mesh';

const run = promisify(execFile);
const hook = join(__dirname, '../support/run-typescript.cjs');
const script = join(__dirname, 'children/one-call.ts');

/** Prints the modules that a process has loaded, when it ends. */
const listModules = join(__dirname, '../support/list-modules.cjs');

/** Runs the child to its own end. @returns what it printed. */
async function runChild(
  bootstrap: object,
  target: string,
  hooks: readonly string[] = [],
): Promise<string> {
  const preloads = [hook, ...hooks].flatMap((path) => ['--require', path]);
  const { stdout } = await run(process.execPath, [...preloads, script, target], {
    env: { ...process.env, GRPC_XDS_BOOTSTRAP_CONFIG: JSON.stringify(bootstrap) },
    timeout: 60_000,
  });
  return stdout.trim();
}

describe('a process with nothing else to do', () => {
  let mesh: Mesh;
  beforeEach(async () => {
    mesh = await Mesh.start();
  });
  afterEach(() => {
    mesh.stop();
  });

  it('ends by itself once its channel is closed', async () => {
    const backend = await mesh.backend('b1');
    mesh.serve(simpleResources([backend.port]));
    const out = await runChild(bootstrapFor(mesh.address), `xds:///${SERVICE}`);
    expect(out).toBe('answer b1');
  });

  it('has loaded nothing of servers for its first call', async () => {
    const backend = await mesh.backend('b1');
    mesh.serve(simpleResources([backend.port]));
    const target = `xds:///${SERVICE}`;
    const out = await runChild(bootstrapFor(mesh.address), target, [listModules]);
    const [answer, ...modules] = out.split('\n');
    expect(answer).toBe('answer b1');
    // The list is that of a client: it has what a call needs.
    expect(modules).toContain('src/resolver/xds-resolver.ts');
    const ofServers =
      /^src\/(server\/|http-filters\/(rbac\/|server-(filter-chain|headers))|resources\/listener\/(socket-|filter-chain-))/;
    expect(modules.filter((path) => ofServers.test(path))).toEqual([]);
  });

  it('ends by itself when the control plane was never there', async () => {
    const { address } = mesh;
    mesh.killControlPlane();
    const out = await runChild(bootstrapFor(address), `xds:///${SERVICE}`);
    expect(out).toContain('cannot be reached');
  });

  it('ends by itself when no backend can be reached', async () => {
    mesh.serve(simpleResources([1]));
    const out = await runChild(bootstrapFor(mesh.address), `xds:///${SERVICE}`);
    expect(out).toContain('ECONNREFUSED');
  });

  it('lets go of the control plane when the last channel closes, and of nothing before', async () => {
    const backend = await mesh.backend('b1');
    mesh.serve(simpleResources([backend.port]));
    const [first, second] = [mesh.client({ 'acme.test': 1 }), mesh.client({ 'acme.test': 2 })];
    await Promise.all([first.say(), second.say()]);
    expect(mesh.controlPlane.clients()).toHaveLength(1);
    first.close();
    await second.say();
    expect(mesh.controlPlane.clients()).toHaveLength(1);
    second.close();
    await mesh.untilNoClients();
  });
});
