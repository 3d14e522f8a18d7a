import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Every timer that concludes something about a peer, by the file that starts it, with what it concludes. */
const CONCLUSIONS: Readonly<Record<string, readonly string[]>> = {
  'cli/client/doctor/probes.ts': ['a step of doctor has no answer'],
  'cli/client/target-watch.ts': ['the config of a target does not arrive'],
  'cli/dump/process-report.ts': ['a page does not answer'],
  'cli/dump/wildcard-dump.ts': [
    'a management server does not answer',
    'the stream of the application is displaced no more',
  ],
  'cli/input.ts': ['the writer of a FIFO is silent'],
  'control-plane/authentication.ts': ['the authentication does not answer'],
  'control-plane/kubernetes/access/token-authentication.ts': ['a TokenReview does not answer'],
  'control-plane/kubernetes/api/exchange.ts': [
    'the API server sends no head',
    'an answer is not complete',
    'the API server is silent',
  ],
  'control-plane/kubernetes/cluster-watch.ts': ['the cluster is not listed'],
  'control-plane/kubernetes/watch-report.ts': ['the API server cannot be reached'],
  'control-plane/unread-bytes.ts': ['a client does not read'],
  'dependency-manager/dependency-manager.ts': ['the last clusters of a first config are missing'],
  'dependency-manager/dns-waits.ts': ['DNS does not answer', 'DNS is slow'],
  'grpc-js/connect-time.ts': ['an endpoint does not complete a connection'],
  'lb/cds/cluster-log.ts': ['a cluster is not connected'],
  'lb/priority/child.ts': ['a priority does not connect, or is not needed'],
  'relay/relayed-loads.ts': ['a cluster of a load report is unknown'],
  'relay/share/awaited-transport.ts': ['the relay has ended'],
  'relay/share/relay-election.ts': ['nothing answers as a relay'],
  'security/client/http-connect.ts': ['a proxy does not answer', 'an endpoint cannot be redialled'],
  'security/client/secure-connector.ts': ['a TLS handshake does not end'],
  'security/contexts/ready-certificates.ts': ['certificates do not arrive'],
  'security/credentials/gcp-identity-token.ts': ['the metadata server does not answer'],
  'server/connections/server-connection.ts': [
    'a client sends no call',
    'a client does not close its connection',
  ],
  'server/listener/route-watch.ts': ['routes do not arrive'],
  'transport/grpc-transport.ts': [
    'a management server cannot be connected to',
    'a management server does not close its end of a connection',
  ],
  'transport/rest/http-client.ts': ['a REST server does not answer'],
  'util/connection-admission.ts': [
    'a client sends nothing',
    'a client does not acknowledge the settings',
  ],
  'xds-client/ads/ads-session.ts': ['a silent server has nothing to send'],
  'xds-client/ads/resource-waits.ts': ['a resource does not exist'],
  'xds-client/long-waits.ts': ['a resource is slow'],
  'xds-client/watched-resource.ts': ['a resource is not renewed within its time to live'],
};

const src = join(__dirname, '../../src');

it('timers that conclude something about a peer are these, started by afterRunning', () => {
  const started: Record<string, number> = {};
  for (const file of readdirSync(src, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || file === join('util', 'running-time.ts')) continue;
    const count = readFileSync(join(src, file), 'utf8').split('afterRunning(').length - 1;
    if (count > 0) started[file] = count;
  }
  const expected = Object.entries(CONCLUSIONS).map(([file, each]) => [file, each.length]);
  expect(started).toEqual(Object.fromEntries(expected));
});
