import { ControlPlane, Snapshot } from '../../src/control-plane';
import type { EchoBackend } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { SERVICE, simpleResources } from '../support/mesh';
import { dnsClusterJson } from '../support/failover';
import { SLOW_HOST, SlowLookups } from '../support/slow-lookups';
import {
  edsClusterJson,
  endpointsJson,
  routeConfigJson,
  routeToCluster,
} from '../support/xds-json';
import { DoctorWorld } from './doctor-world';
import { FakeIo } from './fake-io';

const target = `xds:///${SERVICE}`;

describe('grpc-xds watch', () => {
  let world: DoctorWorld;
  let controlPlane: ControlPlane;
  let backend: EchoBackend;
  let address: string;
  let running: Promise<number> | undefined;
  beforeEach(async () => {
    world = new DoctorWorld();
    backend = await world.backend();
    controlPlane = new ControlPlane({ snapshot: Snapshot.from(simpleResources([backend.port])) });
    ({ address } = await controlPlane.start());
  });
  afterEach(async () => {
    world.io.pressCtrlC();
    await running;
    await controlPlane.close();
    await world.close();
  });

  const start = (...flags: readonly string[]) => {
    running = world.io.run('watch', target, '--control-plane', address, ...flags);
  };

  it('prints a line for each event', async () => {
    const { io } = world;
    start();
    await io.until(/READY {2}echo p0 test\/a 1\/1$/);
    expect(io.out.some((line) => /Cluster "echo" accepted version/.test(line))).toBe(true);
    expect(io.out.some((line) => line.includes(`${address}  open`))).toBe(true);
    const clusters = [edsClusterJson('echo', { lb_policy: 'MAGLEV' })];
    const snapshot = Snapshot.from({ ...simpleResources([backend.port]), clusters });
    controlPlane.setSnapshot(snapshot);
    await io.until(/Cluster "echo" .*MAGLEV/);
    // It may have printed such a line before it was connected, too.
    const printed = io.out.length;
    backend.stop();
    await eventually(
      () => io.out.slice(printed),
      (lines) => lines.some((line) => /(WAITING|IDLE|FAILING|DEGRADED) {2}echo/.test(line)),
    );
    io.pressCtrlC();
    expect(await running).toBe(1);
  });

  it('draws a screen on a terminal', async () => {
    const { io } = world;
    io.isTerminal = true;
    start('--no-color');
    await io.until(new RegExp(`^ {4}127.0.0.1:${backend.port} {2}READY$`));
    expect(io.out).toEqual([]);
    expect(io.screen.slice(0, 6)).toEqual([
      target,
      'READY  echo p0 test/a 1/1',
      '',
      `${address}  open`,
      '',
      'cluster echo  READY',
    ]);
    io.pressCtrlC();
    expect(await running).toBe(0);
  });

  it('ends with --once when the target is ready, and writes JSON', async () => {
    start('--once', '--json');
    expect(await running).toBe(0);
    const events = world.io.out.map((line): unknown => JSON.parse(line));
    expect(events.at(-1)).toEqual({
      event: 'verdict',
      text: 'READY  echo p0 test/a 1/1',
      time: '2026-01-01T12:00:01.000Z',
    });
  });

  it('names what is held back, and the host name that is not answered', async () => {
    const lookups = new SlowLookups();
    try {
      start();
      await world.io.until(/READY {2}echo/);
      const all = simpleResources([backend.port]);
      const slow = routeConfigJson(`${SERVICE}-routes`, [routeToCluster('slow')]);
      const clusters = [...all.clusters, dnsClusterJson('slow', backend.port, SLOW_HOST)];
      const snapshot = Snapshot.from({ ...all, clusters, routes: [slow] });
      controlPlane.setSnapshot(snapshot, { allowInconsistent: true });
      await world.io.until(
        /READY .*; held back: RouteConfiguration .* in use: the version before, waits for DNS name "slow.*; DNS name "slow\.test:\d+" of Cluster "slow": waiting for .* getaddrinfo/,
      );
      lookups.answer();
      await world.io.until(/READY {2}slow p0 - 1\/1$/);
    } finally {
      lookups.release();
    }
  });

  it('ends with 1 when the target has failed', async () => {
    const routes = [{ name: `${SERVICE}-routes`, virtual_hosts: [] }];
    const snapshot = Snapshot.from({ ...simpleResources([backend.port]), routes });
    controlPlane.setSnapshot(snapshot);
    start('--once');
    expect(await running).toBe(1);
    expect(world.io.out.at(-1)).toMatch(/FAILING {2}.*virtual host/);
  });

  it('is not READY while one of the clusters in use is not, and says missing of what never was', async () => {
    const [listener, ...others] = simpleResources([backend.port]).listeners;
    const routes = [
      routeConfigJson(`${SERVICE}-routes`, [
        { match: { prefix: '/a' }, route: { cluster: 'echo' } },
        { match: { prefix: '' }, route: { cluster: 'dead' } },
      ]),
    ];
    const all = simpleResources([backend.port]);
    const snapshot = Snapshot.from({
      listeners: [listener ?? {}, ...others],
      routes,
      clusters: [...all.clusters, edsClusterJson('dead')],
      endpoints: [...all.endpoints, endpointsJson('dead', [])],
    });
    controlPlane.setSnapshot(snapshot);
    start('--once');
    expect(await running).toBe(1);
    expect(world.io.out.at(-1)).toMatch(/DEGRADED {2}.*dead TRANSIENT_FAILURE/);
    controlPlane.setSnapshot(Snapshot.from({ ...all, listeners: [] }), { allowInconsistent: true });
    world.io.out.length = 0;
    start();
    await world.io.until(/Listener ".*" missing: not in the response: check the name/);
    expect(world.io.out.join('\n')).not.toMatch(/removed/);
  });

  it('writes YAML documents', async () => {
    start('--once', '-o', 'yaml');
    expect(await running).toBe(0);
    const documents = world.io.out.join('\n').split('---\n').slice(1);
    expect(documents.length).toBeGreaterThan(1);
    expect(documents.at(-1)).toMatch(/^time: .*\nevent: verdict\ntext: READY /);
  });

  it('ends with 3 when the control plane is silent', async () => {
    address = await world.silentServer();
    start('--once', '--timeout', '1');
    expect(await running).toBe(3);
    expect(world.io.out.at(-1)).toMatch(/WAITING {2}Listener/);
  });

  it('prints what it waits for once, not each time that the seconds change', async () => {
    address = await world.silentServer();
    start('--timeout', '1', '--json');
    await running;
    const texts = world.io.out
      .map((line): string => JSON.parse(line).text)
      .filter((text) => text.startsWith('WAITING'));
    expect(texts).toEqual([expect.stringMatching(/^WAITING {2}Listener ".*": waiting for /)]);
  });

  it('ends with 2 without a bootstrap, and for what is not an xds: target', async () => {
    expect(await world.io.run('watch', target)).toBe(2);
    expect(await world.io.run('watch', SERVICE, '--control-plane', address)).toBe(2);
    expect(world.io.errors).toEqual([
      expect.stringMatching(/^xDS bootstrap is missing: set GRPC_XDS_BOOTSTRAP to a file/),
      `not an xds: target: ${SERVICE}; use xds:///<name>`,
    ]);
  });

  it('ends with 2 for a bootstrap that cannot be read', async () => {
    const path = `${world.folder}/none.json`;
    expect(await world.io.run('watch', target, '--bootstrap', path)).toBe(2);
    expect(world.io.errors[0]).toMatch(/ENOENT/);
  });
});

describe('grpc-xds watch --server', () => {
  const address = '127.0.0.1:50051';
  let io: FakeIo;
  let controlPlane: ControlPlane;
  let uri: string;
  beforeEach(async () => {
    io = new FakeIo();
    controlPlane = new ControlPlane();
    ({ address: uri } = await controlPlane.start());
  });
  afterEach(() => void controlPlane.close({ force: true }));

  const run = (...more: readonly string[]) =>
    io.run('watch', '--server', address, '--control-plane', uri, ...more);

  it('is ready when the Listener of the address is, and has failed when it is removed', async () => {
    const running = run();
    await io.until(/WAITING {2}Listener "xds\.istio\.io\/grpc\/lds\/inbound\/127\.0\.0\.1:50051"/);
    controlPlane.setSnapshot(Snapshot.forServers({ [address]: { mtls: 'DISABLE' } }));
    await io.until(/READY {2}Listener "xds\.istio\.io.*": 1 filter chain/);
    controlPlane.setSnapshot(Snapshot.empty);
    await io.until(/FAILING {2}Listener .*no such resource/);
    io.pressCtrlC();
    expect(await running).toBe(1);
  });

  it('ends with --once, and says what is wrong with its arguments', async () => {
    controlPlane.setSnapshot(Snapshot.forServers({ [address]: { mtls: 'DISABLE' } }));
    expect(await run('--once')).toBe(0);
    expect(await run('xds:///shop')).toBe(2);
    expect(io.errors.at(-1)).toBe(
      'error: give one of a target, --server, --pid, --page and --admin, not a target and --server',
    );
    expect(await io.run('watch')).toBe(2);
    expect(io.errors.at(-1)).toBe(
      'error: give one of a target, --server, --pid, --page and --admin',
    );
    expect(await io.run('watch', '--server', 'localhost:1', '--control-plane', uri)).toBe(2);
    expect(io.errors.join('\n')).toContain('localhost:1');
  });
});
