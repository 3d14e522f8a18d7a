import { Server, ServerCredentials, type ServerUnaryCall } from '@grpc/grpc-js';
import { echoMethod } from './echo-backend';
import type { TestCertificate } from './test-certificates';
import type { Json } from './xds-json';

/** A server that requires a certificate of an authority, and answers a call with the common name in it. */
export async function startMutualTlsBackend(
  root: TestCertificate,
  { certificateChain, privateKey }: TestCertificate,
): Promise<{ readonly server: Server; readonly port: number }> {
  const server = new Server();
  const say = (call: ServerUnaryCall<Buffer, Buffer>, callback: (e: null, b: Buffer) => void) => {
    const name = call.getAuthContext().sslPeerCertificate?.subject.CN;
    callback(null, Buffer.from(String(name)));
  };
  server.addService({ say: echoMethod }, { say });
  const pair = { cert_chain: Buffer.from(certificateChain), private_key: Buffer.from(privateKey) };
  const secured = ServerCredentials.createSsl(Buffer.from(root.certificate), [pair], true);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', secured, (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { server, port };
}

/** The transport socket of a cluster with mutual TLS, by the certificates of an instance. */
export function mutualTlsSocket(instanceName: string, validation: Json = {}): Json {
  const instance = { instance_name: instanceName };
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
      common_tls_context: {
        tls_certificate_provider_instance: instance,
        validation_context: { ca_certificate_provider_instance: instance, ...validation },
      },
    },
  };
}
