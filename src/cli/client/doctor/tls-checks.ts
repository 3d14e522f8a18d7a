import type { ServerConfig } from '../../../bootstrap/bootstrap';
import { checkCertificateFiles, checkExpiry, filesOfServer } from './certificate-checks';
import type { DoctorContext } from './doctor-context';
import { probeTls, type SocketTarget, type TlsProbe } from './probe-net';
import { addressOf } from './server-address';

/** A server that is reached over TLS. */
export interface TlsServer {
  readonly server: ServerConfig;
  readonly target: SocketTarget;
}

/** Makes a TLS handshake with a server, and checks its certificate. @returns a few words if there was one. */
export async function checkTls(
  { server, target }: TlsServer,
  context: DoctorContext,
): Promise<string | undefined> {
  const { clock, stepMs, findings } = context;
  const subject = server.serverUri;
  const files = filesOfServer(server);
  const before = findings.count('fail');
  const content = files && checkCertificateFiles(subject, files, clock, findings);
  if (findings.count('fail') > before) return undefined;
  const address = addressOf(server.serverUri);
  const serverName = address.kind === 'tcp' ? address.host : 'localhost';
  const probed = await probeTls(target, { serverName, ...content }, clock, stepMs);
  if (!probed.ok) {
    const isPlain = /wrong version number|packet length too long/i.test(probed.error);
    const text = isPlain
      ? 'the server does not speak TLS, and the bootstrap has TLS channel credentials'
      : `TLS handshake: ${probed.error}`;
    const remedy = isPlain
      ? 'use channel_creds of type insecure, or the TLS port of the server'
      : 'check what TLS the server requires, such as a client certificate';
    findings.fail(isPlain ? 'plaintext-expected' : 'tls', subject, text, remedy);
    return undefined;
  }
  const { value, ms } = probed.value;
  const isByBundle = files?.roots?.field === 'spiffe_trust_bundle_map_file';
  judge(subject, { probe: value, serverName, isByBundle }, context);
  const left = checkExpiry(
    subject,
    { what: 'the certificate of the server', expiresAtMs: value.expiresAtMs, nowMs: clock.now() },
    findings,
  );
  return `${value.protocol} ${Math.round(ms)} ms (${left})`;
}

/** @param judged.isByBundle Whether the certificate is verified by a trust bundle map instead (gRFC A87). */
function judge(
  subject: string,
  judged: { readonly probe: TlsProbe; readonly serverName: string; readonly isByBundle: boolean },
  { findings }: DoctorContext,
): void {
  const { probe, serverName, isByBundle } = judged;
  const { problem, isHttp2, names } = probe;
  if (!isHttp2) {
    const text = 'the server does not choose h2 by ALPN: gRPC needs HTTP/2';
    findings.fail('tls-alpn', subject, text, 'enable HTTP/2 (ALPN h2) at the server or its proxy');
  }
  // Expiry is reported with its date.
  if (problem === undefined || isByBundle || problem === 'CERT_HAS_EXPIRED') return;
  if (problem === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const text = `the certificate is not for ${serverName}; it is for ${names || 'no name'}`;
    const remedy = 'use a name of the certificate in server_uri, or add the name to it';
    findings.fail('tls-name', subject, text, remedy);
    return;
  }
  const text = `the certificate is not trusted: ${problem}`;
  const remedy = 'set ca_certificate_file to the authority that has signed it';
  findings.fail('tls-chain', subject, text, remedy);
}
