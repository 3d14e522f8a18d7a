import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { logVerbosity, Metadata, setLogger, setLogVerbosity, status } from '@grpc/grpc-js';
import { EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { bootstrapFor, Mesh, SERVICE, simpleResources, registerAnew } from '../support/mesh';
import { withoutSince } from '../../src/util/since';
import { routeConfigJson, routeToCluster } from '../support/xds-json';

const run = promisify(execFile);
const hook = join(__dirname, '../support/run-typescript.cjs');
const script = join(__dirname, 'children/one-call.ts');

interface Case {
  readonly target: string;
  /** What status and log say: cause and next step. */
  readonly details: string;
  readonly prepare?: (mesh: Mesh) => void;
}

const cases: Readonly<Record<string, Case>> = {
  'a target with two slashes': {
    target: `xds://${SERVICE}`,
    details:
      `the xds: target has the authority "${SERVICE}" and no name: ` +
      `did you mean xds:///${SERVICE}?`,
  },
  'an unknown authority': {
    target: `xds://elsewhere/${SERVICE}`,
    details:
      'authority "elsewhere" is not among the authorities of the bootstrap ' +
      `register({ bootstrap }) (it has none): add it there, or use xds:///${SERVICE}`,
  },
  'a missing virtual host': {
    target: `xds:///${SERVICE}`,
    details:
      `RouteConfiguration "${SERVICE}-routes" has no virtual host for "${SERVICE}" ` +
      '(management server SERVER (node "test-node")): add it to the domains of one, or set the channel option ' +
      'grpc.default_authority',
    prepare: (mesh) => {
      const name = `${SERVICE}-routes`;
      const host = { name: 'other', domains: ['other.test'], routes: [routeToCluster('c')] };
      const routes = [{ ...routeConfigJson(name, []), virtual_hosts: [host] }];
      mesh.serve({ ...simpleResources([1]), routes });
    },
  },
  'a missing bootstrap': {
    target: `xds:///${SERVICE}`,
    details:
      'xDS bootstrap is missing: set GRPC_XDS_BOOTSTRAP to a file or GRPC_XDS_BOOTSTRAP_CONFIG to ' +
      'JSON, or pass register({ bootstrap })',
    prepare: () => registerAnew({}),
  },
};

describe('a channel whose target cannot be resolved', () => {
  const lines: string[] = [];
  const failures = () => lines.filter((line) => line.includes('no configuration: '));
  let mesh: Mesh;
  let client: EchoClient | undefined;

  beforeEach(async () => {
    mesh = await Mesh.start();
    registerAnew({ bootstrap: bootstrapFor(mesh.address) });
    lines.length = 0;
    setLogger({ error: (...texts: unknown[]) => lines.push(texts.join(' ')) });
    setLogVerbosity(logVerbosity.ERROR);
  });
  afterEach(() => {
    setLogVerbosity(logVerbosity.NONE);
    setLogger(console);
    client?.close();
    mesh.stop();
  });

  it.each(Object.entries(cases))(
    'has one line in the log and fails its calls at once, with cause and next step: %s',
    async (_name, { target, details: text, prepare }) => {
      prepare?.(mesh);
      const details = text.replace('SERVER', mesh.address);
      client = new EchoClient(target);
      for (let i = 0; i < 3; i++) {
        const failure = await client.failure();
        expect(failure.code).toBe(status.UNAVAILABLE);
        expect(withoutSince(failure.details)).toBe(details);
      }
      expect(failures()).toEqual([expect.stringContaining(`: no configuration: ${details}`)]);
    },
  );

  it.each(Object.entries(cases))(
    'has one line in the log while calls wait for ready: %s',
    async (_name, { target, details: text, prepare }) => {
      prepare?.(mesh);
      // A line that repeats the last one about its target is left out for a while.
      const other = prepare === undefined ? 'patient.test' : SERVICE;
      const details = text.replaceAll(SERVICE, other).replace('SERVER', mesh.address);
      client = new EchoClient(target.replaceAll(SERVICE, other));
      const metadata = new Metadata();
      metadata.setOptions({ waitForReady: true });
      let isPending = true;
      const failure = client.failure({ deadlineMs: 60_000, metadata });
      void failure.finally(() => (isPending = false));
      await eventually(failures, (found) => found.length > 0);
      expect(failures()).toEqual([expect.stringContaining(`: no configuration: ${details}`)]);
      expect(isPending).toBe(true);
      client.close();
      await failure;
    },
  );
});

describe('a process with a proxy variable', () => {
  const connects: (string | undefined)[] = [];
  let proxy: Server;
  let address: string;
  beforeEach(async () => {
    connects.length = 0;
    proxy = createServer();
    proxy.on('connect', ({ url }, socket) => {
      connects.push(url);
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const bound = proxy.address();
    if (bound === null || typeof bound === 'string') throw new Error('no port');
    address = `127.0.0.1:${bound.port}`;
  });
  afterEach(() => {
    proxy.close();
  });

  async function call(variables: Readonly<Record<string, string>>) {
    const GRPC_VERBOSITY = 'ERROR';
    const args = ['--require', hook, script, `xds:///${SERVICE}`];
    const env = { ...process.env, ...variables, GRPC_VERBOSITY };
    const { stdout, stderr } = await run(process.execPath, args, { env, timeout: 60_000 });
    return { stdout, lines: stderr.split('\n').filter((line) => line.includes('_proxy')) };
  }

  it('logs which variable sends the channel to the proxy, and the remedies', async () => {
    const { stdout, lines } = await call({ http_proxy: `http://${address}` });
    expect(connects).toContain(SERVICE);
    expect(stdout).toContain('error ');
    expect(lines).toEqual([
      expect.stringContaining(
        'grpc-xds: http_proxy is set: grpc-js connects channels to xds: targets to the proxy ' +
          `${address} and does not resolve them; add the hosts to no_proxy, or set the channel ` +
          'option grpc.enable_http_proxy to 0',
      ),
    ]);
  }, 120_000);

  it('logs nothing if every host is exempt', async () => {
    const { stdout, lines } = await call({ http_proxy: `http://${address}`, no_proxy: ',' });
    expect(connects).toEqual([]);
    expect(stdout).toContain('xDS bootstrap is missing');
    expect(lines).toEqual([]);
  }, 120_000);
});
