import { Secret } from '../../../src/wire/generated/envoy/extensions/transport_sockets/tls/v3/secret';
import { createSds } from '../../../src/security/providers/sds';
import { silentLogger } from '../../../src/util/logger';
import { Violations } from '../../../src/util/violations';
import { MAX_TIME_DEBT_MS, TIME_BURST_MS } from '../../../src/xds-client/limits';
import { FakeClock } from '../../support/fake-clock';
import { FakeNetwork, type FakeServer } from '../../support/fake-transport';
import { rootsSecret } from '../../support/sds-server';
import { seededRandom } from '../../support/seeded-random';
import { TestCertificates } from '../../support/test-certificates';

// Responses of several secret discovery servers take from one share of the time, however many instances there are.

const typeUrl = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret';
const certificates = new TestCertificates();
const roots = ['a', 'b', 'c'].map((name) => certificates.authority(name).certificate);
afterAll(() => certificates.close());

/** Sends authorities on the newest stream for them. @param version Of the three above. */
function sendRoots(server: FakeServer, version: number): void {
  const stream = server.streams.find((each) => each.request.resourceNames.includes('ROOTCA'));
  const value = Secret.encode(
    Secret.create({
      name: 'ROOTCA',
      ...rootsSecret(roots[version] ?? ''),
    }),
  ).finish();
  stream?.respond({
    typeUrl,
    versionInfo: `${version}`,
    resources: [{ typeUrl, value }],
  });
}

/** @param clock Of the servers, and of the provider. */
function openInstances(clock: FakeClock) {
  const network = new FakeNetwork(clock);
  const sds = createSds({
    support: { channelCreds: new Set(['insecure']), callCreds: new Set() },
    transportFactory: network,
    random: seededRandom(1),
    spiffeBundles: true,
    userAgent: { name: 'test', version: '1' },
    dataErrorHandling: false,
    clock,
  });
  const open = (instanceName: string, onChanged: () => void) => {
    const server = { server_uri: `unix:/${instanceName}`, channel_creds: [{ type: 'insecure' }] };
    const config = sds.parseConfig({ sds_server: server }, Violations.root());
    if (config === undefined) throw new Error('an invalid config');
    const node = { id: 'node', cluster: '', locality: undefined, metadata: undefined };
    const context = { instanceName, node, clock, logger: silentLogger };
    const watch = sds.create(config, context).watch('', onChanged);
    clock.flush();
    return { watch, server: network.server(`unix:/${instanceName}`) };
  };
  return open;
}

it('delays the responses to every instance once one has used up the time', () => {
  const clock = new FakeClock();
  const open = openInstances(clock);
  // 1. Both instances have their first authorities; those of one take very long to apply.
  const costly = open('costly', () => clock.advance(TIME_BURST_MS + MAX_TIME_DEBT_MS));
  const other = open('other', () => {});
  sendRoots(other.server, 0);
  expect(other.watch.current.roots).toEqual({ ok: true, value: { certificates: [roots[0]] } });
  sendRoots(costly.server, 1);
  // 2. Of the next ones of the other instance, the first are being read already; those after them are read once the share of
  //    the time makes up for it.
  sendRoots(other.server, 1);
  sendRoots(other.server, 2);
  const stale = other.watch.current.roots;
  clock.advance(4 * MAX_TIME_DEBT_MS);
  expect({ stale, current: other.watch.current.roots }).toEqual({
    stale: { ok: true, value: { certificates: [roots[1]] } },
    current: { ok: true, value: { certificates: [roots[2]] } },
  });
  costly.watch.release();
  other.watch.release();
});
