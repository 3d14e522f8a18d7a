// Transport security between a client and a server that both take part in xDS (gRFC A29).
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { SERVICE } from '../harness/resources.mjs';
import {
  meshCertificates,
  OFFERING,
  REQUIRING,
  SecureService,
} from '../harness/secure-service.mjs';
import { allOf, describeStats, untilOnly, verdict } from '../harness/verdict.mjs';
import { common, ID, identity, mutual, ROOTS } from '../tls/contexts.mjs';

const COUNT = 50;
const wanted = { match_subject_alt_names: [{ exact: ID }] };
const unwanted = { match_subject_alt_names: [{ exact: 'spiffe://td.test/ns/a/sa/other' }] };

const subjectOf = (bytes) => {
  if (bytes === undefined || bytes === null || bytes.length === 0) return 'none';
  return new X509Certificate(bytes).subject;
};
const subjectIn = ({ certificate }) => subjectOf(readFileSync(certificate));

/** Whose certificates channelz shows of the connection: `server`, and `client` unless the server requests none. */
const checkConnection = async (client, parties) => {
  const sockets = await client.sockets(SERVICE);
  const certificates = meshCertificates();
  const expected = ['client', 'server'].map((party) =>
    parties.includes(party) ? subjectIn(certificates[party]) : 'none',
  );
  const found = sockets.map(({ security }) => [
    subjectOf(security?.tls?.local_certificate),
    subjectOf(security?.tls?.remote_certificate),
  ]);
  const passed = found.length === 1 && found[0].join() === expected.join();
  return verdict(passed, `certificates: ${found.map((pair) => pair.join(' and ')).join('; ')}`);
};

const isRefused = ({ byPeer, failures }) => byPeer.size === 0 && failures === COUNT;

/**
 * A case.
 * @param config.server The TLS of the server; `cluster`: that of the cluster.
 * @param config.mended The TLS of the cluster after which calls succeed, if they fail before.
 * @param config.parties Whose certificates the connection has.
 */
const securityCase = (name, expect, { mended, parties, ...config }) => ({
  name: `security_test: ${name}`,
  expect,
  async run(mesh) {
    const service = await SecureService.start(mesh, config);
    const { client, server } = service;
    const steps = [];
    if (mended !== undefined) {
      const stats = await client.stats(COUNT);
      steps.push(verdict(isRefused(stats), describeStats(stats)));
      service.serve(mended);
    }
    steps.push(await untilOnly(client, [server], COUNT));
    // The test clients of other languages do not have certificates of these connections in channelz.
    if (mesh.hasOwnClient) steps.push(await checkConnection(client, parties));
    return allOf(...steps);
  },
});

export const cases = [
  securityCase('test_mtls', 'calls succeed with the certificates of both sides', {
    server: REQUIRING,
    cluster: mutual(wanted),
    parties: ['client', 'server'],
  }),
  securityCase('test_tls', 'calls succeed with the certificate of the server alone', {
    server: OFFERING,
    parties: ['server'],
    cluster: common({ validation_context: { ...ROOTS, ...wanted } }),
  }),
  securityCase('test_plaintext_fallback', 'calls succeed without TLS', {
    server: undefined,
    cluster: undefined,
    parties: [],
  }),
  securityCase(
    'test_mtls_error',
    'calls fail while the client has no certificate, and succeed with one',
    {
      server: REQUIRING,
      cluster: identity(undefined),
      mended: mutual(wanted),
      parties: ['client', 'server'],
    },
  ),
  securityCase(
    'test_server_authz_error',
    'calls fail while the server is not the one expected, and succeed when it is',
    {
      server: REQUIRING,
      cluster: mutual(unwanted),
      mended: mutual(wanted),
      parties: ['client', 'server'],
    },
  ),
];
