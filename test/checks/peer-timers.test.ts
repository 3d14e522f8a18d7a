import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, sourceFiles } from '../support/source-files';

/** Every timer that concludes something about a peer, by the file that starts it, with what it concludes. */
const CONCLUSIONS: Readonly<Record<string, readonly string[]>> = {
  'packages/cli/src/client/doctor/probes.ts': ['a step of doctor has no answer'],
  'packages/cli/src/dump/process-report.ts': ['a page does not answer'],
  'packages/cli/src/dump/wildcard-dump.ts': [
    'a management server does not answer',
    'the stream of the application is displaced no more',
  ],
  'packages/cli/src/input.ts': ['the writer of a FIFO is silent'],
  'src/control-plane/authentication.ts': ['the authentication does not answer'],
  'packages/kubernetes/src/access/token-authentication.ts': ['a TokenReview does not answer'],
  'packages/kubernetes/src/api/exchange.ts': [
    'the API server sends no head',
    'an answer is not complete',
    'the API server is silent',
  ],
  'packages/kubernetes/src/cluster-watch.ts': ['the cluster is not listed'],
  'packages/kubernetes/src/watch-report.ts': ['the API server cannot be reached'],
  'src/control-plane/unread-bytes.ts': ['a client does not read'],
  'src/dependency-manager/dependency-manager.ts': [
    'the last clusters of a first config are missing',
  ],
  'src/dependency-manager/dns-waits.ts': ['DNS does not answer', 'DNS is slow'],
  'src/grpc-js/connect-time.ts': ['an endpoint does not complete a connection'],
  'src/lb/cds/cluster-log.ts': ['a cluster is not connected'],
  'src/lb/cluster-impl/try-timeout.ts': ['an endpoint does not answer a try'],
  'src/lb/priority/child.ts': ['a priority does not connect, or is not needed'],
  'packages/page/src/process/linked-pages.ts': ['a linked page does not answer'],
  'packages/relay/src/relay-session.ts': ['clients of a relay that closes report no loads'],
  'packages/relay/src/relay-upstream.ts': ['clients accept a response that they rejected before'],
  'packages/relay/src/share/awaited-transport.ts': ['the relay has ended'],
  'packages/relay/src/share/relay-election.ts': ['nothing answers as a relay'],
  'src/runtime/examine/target-watch.ts': ['the config of a target does not arrive'],
  'src/security/client/http-connect.ts': [
    'a proxy does not answer',
    'an endpoint cannot be redialled',
  ],
  'src/security/client/secure-connector.ts': ['a TLS handshake does not end'],
  'src/security/client/policy-connector.ts': ['certificates do not arrive'],
  'src/security/credentials/gcp-identity-token.ts': ['the metadata server does not answer'],
  'src/server/connections/server-connection.ts': [
    'a client sends no call',
    'a client does not close its connection',
  ],
  'src/server/listener/route-watch.ts': ['routes do not arrive'],
  'src/transport/grpc-transport.ts': [
    'a management server cannot be connected to',
    'a management server does not close its end of a connection',
  ],
  'src/transport/rest/http-client.ts': ['a REST server does not answer'],
  'src/util/connection-admission.ts': [
    'a client sends nothing',
    'a client does not acknowledge the settings',
  ],
  'src/xds-client/ads/ads-session.ts': ['a silent server has nothing to send'],
  'src/xds-client/ads/resource-waits.ts': ['a resource does not exist'],
  'src/xds-client/long-waits.ts': ['a resource is slow'],
  'src/xds-client/watched-resource.ts': ['a resource is not renewed within its time to live'],
};

it('timers that conclude something about a peer are these, started by afterRunning', () => {
  const started: Record<string, number> = {};
  for (const file of sourceFiles('.ts')) {
    if (file === join('src', 'util', 'running-time.ts')) continue;
    const count = readFileSync(join(ROOT, file), 'utf8').split('afterRunning(').length - 1;
    if (count > 0) started[file] = count;
  }
  const expected = Object.entries(CONCLUSIONS).map(([file, each]) => [file, each.length]);
  expect(started).toEqual(Object.fromEntries(expected));
});
