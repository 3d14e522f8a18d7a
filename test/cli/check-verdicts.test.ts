import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '@bufbuild/protobuf';
import { HttpFilterRegistry } from '../../src/http-filters/registry';
import { routerFilter } from '../../src/http-filters/router/router-filter';
import { encodeJson } from '../../src/wire/proto-json/encode-json';
import { createEnvironment, createParts } from '../../src/runtime/built-in-parts';
import { readFeatureFlags } from '../../src/util/feature-flags';
import { silentLogger } from '../../src/util/logger';
import type { ResourceType } from '../../src/xds-client/resource-type';
import { XdsClient } from '../../src/xds-client/xds-client';
import { runModule } from '../interop/run-module';
import { FakeClock } from '../support/fake-clock';
import { FakeNetwork } from '../support/fake-transport';
import { bootstrap } from '../xds-client/harness';
import { FakeIo } from './fake-io';

interface Variant {
  readonly list: 'listeners' | 'routes' | 'clusters' | 'endpoints';
  readonly title: string;
  readonly json: JsonObject;
}

const MESSAGES = {
  listeners: 'envoy.config.listener.v3.Listener',
  routes: 'envoy.config.route.v3.RouteConfiguration',
  clusters: 'envoy.config.cluster.v3.Cluster',
  endpoints: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
} as const;

function clientTypes(): ReadonlyMap<string, ResourceType<unknown>> {
  const ambient = { clock: new FakeClock(), random: () => 0 };
  const environment = createEnvironment({ ...ambient, flags: readFeatureFlags({}) });
  const { types } = createParts(environment, new HttpFilterRegistry([routerFilter]));
  const list: readonly ResourceType<unknown>[] = Object.values(types);
  return new Map(list.map((type) => [type.typeUrl, type]));
}

/** The certificate providers of a bootstrap that has all of them: the command does not know which there are. */
const everyProvider = Object.assign(new Map(), { has: () => true });

/** Whether a client answers a response with this resource with a NACK. */
function isNacked(type: ResourceType<unknown>, name: string, value: Uint8Array): boolean {
  const clock = new FakeClock();
  const network = new FakeNetwork(clock);
  const client = new XdsClient({
    bootstrap: { ...bootstrap(), certificateProviders: everyProvider },
    transportFactory: network,
    clock,
    random: () => 0.5,
    logger: silentLogger,
    userAgent: { name: 'test', version: '1' },
  });
  client.watch(type, name, { onResourceChanged() {}, onAmbientError() {} });
  clock.flush();
  const { stream } = network.server('xds.test:1');
  stream.confirmSent();
  clock.flush();
  stream.respond({
    typeUrl: type.typeUrl,
    versionInfo: '1',
    nonce: 'a',
    resources: [{ typeUrl: type.typeUrl, value }],
  });
  clock.flush();
  const { request } = stream;
  expect(request.responseNonce).toBe('a');
  client.close();
  return request.errorDetail !== undefined;
}

// The resources that `npm run interop:cross` serves to the clients of all languages.
describe('grpc-xds check and the client', () => {
  let variants: readonly Variant[];
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cli-verdicts-'));
    variants = (await runModule(`
      import { clusterVariants as clusters } from './interop/differential/cluster-variants.mjs';
      import { endpointVariants as endpoints } from './interop/differential/endpoint-variants.mjs';
      import { listenerVariants as listeners } from './interop/differential/listener-variants.mjs';
      import { routeVariants as routes } from './interop/differential/route-variants.mjs';
      answer(Object.entries({ listeners, routes, clusters, endpoints }).flatMap(([list, all]) =>
        Object.entries(all).map(([title, make]) => ({ list, title, json: make('subject') }))));
    `)) as readonly Variant[];
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('give the same verdict on every resource of the differential corpus', async () => {
    const types = clientTypes();
    const verdicts = { good: 0, rejected: 0, unreadable: 0 };
    const disagreements: string[] = [];
    for (const { list, title, json } of variants) {
      const file = join(folder, 'resources.json');
      writeFileSync(file, JSON.stringify({ [list]: [json] }));
      const io = new FakeIo();
      const code = await io.run('check', '--allow-inconsistent', '--ignore-unknown-fields', file);
      const encoded = encodeJson(MESSAGES[list], json, { ignoreUnknownFields: true });
      const type = types.get(`type.googleapis.com/${MESSAGES[list]}`);
      if (!encoded.ok || type === undefined) {
        verdicts.unreadable++;
        expect(code).toBe(1);
        continue;
      }
      const nacked = isNacked(type, 'subject', encoded.value);
      verdicts[nacked ? 'rejected' : 'good']++;
      if (nacked !== (code === 1)) disagreements.push(`${list}: ${title}: ${io.errors.join(' ')}`);
    }
    expect(disagreements).toEqual([]);
    expect(verdicts.good + verdicts.rejected + verdicts.unreadable).toBeGreaterThan(400);
    expect(verdicts.good).toBeGreaterThan(100);
    expect(verdicts.rejected).toBeGreaterThan(100);
    expect(verdicts.unreadable).toBeLessThan(50);
  });
});
