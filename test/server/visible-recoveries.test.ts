import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { logVerbosity, setLogger, setLogVerbosity } from '@grpc/grpc-js';
import { createAuthorizationInterceptor } from '../../src/server';
import { eventually } from '../support/eventually';
import { TestCertificates } from '../support/test-certificates';
import type { Json } from '../support/xds-json';
import type { XdsServerWorld } from '../support/xds-server-world';
import {
  inlineRoutes,
  rdsRoutes,
  serverChain,
  serverRouteConfig,
  strictTls,
  useServerWorld,
} from '../support/xds-server-world';

/** What grpc-js shows by default. */
const lines: string[] = [];
const certificates = new TestCertificates();
const root = certificates.authority('root');
const identity = root.sign('server', { names: ['IP:127.0.0.1'] });
const world = useServerWorld();

beforeEach(() => {
  lines.length = 0;
  setLogVerbosity(logVerbosity.ERROR);
  setLogger({ error: (line: string) => lines.push(line) });
});
afterEach(() => {
  setLogVerbosity(logVerbosity.NONE);
  setLogger(console);
});
afterAll(() => certificates.close());

const shown = (line: RegExp) => eventually(() => lines.some((each) => line.test(each)), true);
const wrong = { match: { prefix: '' }, route: { cluster: 'c' } };
const invalid = { match: {}, non_forwarding_action: {} };

interface Pair {
  /** Begins the failure of an address that is served. */
  readonly fail: () => void;
  readonly failure: RegExp;
  readonly recover: () => void;
  readonly recovery: RegExp;
}

const inline = (routes?: readonly Json[]) => world.listener([serverChain(inlineRoutes(routes))]);
const byName = (name: string) => world.listener([serverChain(rdsRoutes(name))]);

describe('a server whose log shows a failure by default shows its end, too', () => {
  it.each<[string, (folder: ReturnType<XdsServerWorld['useCertificates']>) => Pair]>([
    [
      'an address that is not served',
      () => ({
        fail: () => world.serve([]),
        failure: /: not serving: /,
        recover: () => world.serve([inline()]),
        recovery: /: serving by Listener /,
      }),
    ],
    [
      'a Listener that is rejected',
      () => ({
        fail: () => world.serve([inline([invalid])]),
        failure: /update from .* rejected \(NACK\): .*Listener/,
        recover: () => world.serve([inline()]),
        recovery: /Listener ".*is accepted; what it sent since .* was rejected/,
      }),
    ],
    [
      'routes of RDS that are rejected',
      () => ({
        fail: () => world.serve([byName('r')], [serverRouteConfig('r', [invalid])]),
        failure: /RouteConfiguration "r": .*rejected/,
        recover: () => world.serve([byName('r')], [serverRouteConfig('r')]),
        recovery: /RouteConfiguration "r": received: calls no longer fail/,
      }),
    ],
    [
      'routes of RDS for clients',
      () => ({
        fail: () => world.serve([byName('r')], [serverRouteConfig('r', [wrong])]),
        failure: /RouteConfiguration "r": 1 of 1 routes fail their requests/,
        recover: () => world.serve([byName('r')], [serverRouteConfig('r')]),
        recovery: /RouteConfiguration "r": every route can be used again/,
      }),
    ],
    [
      'routes in the Listener for clients',
      () => ({
        fail: () => world.serve([inline([wrong])]),
        failure: /the routes of the listener: 1 of 1 routes fail their requests/,
        recover: () => world.serve([inline()]),
        recovery: /the routes of the listener: every route can be used again/,
      }),
    ],
    [
      'certificates that cannot be used',
      (folder) => ({
        fail: () => folder.write('tls.crt', 'none'),
        failure: /certificate provider instance "default": .*tls\.crt/,
        recover: () => folder.writeIdentity(identity),
        recovery: /certificate provider instance "default": .*can be used again/,
      }),
    ],
  ])('%s', async (_name, pairOf) => {
    const folder = world.useCertificates(identity, root, { refresh_interval: '1s' });
    const tls = world.listener([serverChain(inlineRoutes(), strictTls())]);
    world.serve([tls]);
    await world.bind(world.server());
    const { fail, failure, recover, recovery } = pairOf(folder);
    fail();
    await shown(failure);
    recover();
    await shown(recovery);
  });

  it('the routes of a filter chain without a name, beside another one', async () => {
    const other = serverChain(inlineRoutes(), { filter_chain_match: { source_ports: [1] } });
    const serve = (routes?: readonly Json[]) =>
      world.serve([world.listener([serverChain(inlineRoutes(routes)), other])]);
    serve();
    await world.bind(world.server());
    serve([wrong]);
    await shown(/: 1 of 1 routes fail their requests/);
    // The routes of the other one were compiled after those.
    serve([wrong, wrong]);
    await shown(/: 2 of 2 routes fail their requests/);
    expect(lines.join('\n')).not.toMatch(/can be used again/);
    serve();
    await shown(/the routes of the listener: every route can be used again/);
  });

  it('a policy file that cannot be used', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-recoveries-'));
    const file = join(folder, 'policy.json');
    const write = (text: string) => {
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    };
    const policy = JSON.stringify({ name: 'p', allow_rules: [{ name: 'all' }] });
    write(policy);
    const interceptor = createAuthorizationInterceptor({ file });
    try {
      write('{');
      await shown(/policy\.json: .* what was read before stays in use/);
      write(policy);
      await shown(/policy\.json: the file can be used again/);
    } finally {
      interceptor.close();
      rmSync(folder, { recursive: true });
    }
  });
});
