import { Server, type ServerUnaryCall } from '@grpc/grpc-js';
import { echoMethod } from './echo-backend';
import { bind } from './listen';
import type { TestCertificate } from './test-certificates';
import { serverTls, upstreamTls } from './tls';
import type { Json } from './xds-json';

/** A server that requires a certificate of an authority, and answers a call with the common name in it. */
export async function startMutualTlsBackend(
  root: TestCertificate,
  certificate: TestCertificate,
): Promise<{ readonly server: Server; readonly port: number }> {
  const server = new Server();
  const say = (call: ServerUnaryCall<Buffer, Buffer>, callback: (e: null, b: Buffer) => void) => {
    const name = call.getAuthContext().sslPeerCertificate?.subject.CN;
    callback(null, Buffer.from(String(name)));
  };
  server.addService({ say: echoMethod }, { say });
  const port = await bind(server, serverTls(certificate, root.certificate));
  return { server, port };
}

/** The transport socket of a cluster with mutual TLS, by the certificates of an instance. */
export function mutualTlsSocket(instance_name: string, validation: Json = {}): Json {
  const instance = { instance_name };
  return upstreamTls({
    tls_certificate_provider_instance: instance,
    validation_context: { ca_certificate_provider_instance: instance, ...validation },
  });
}
