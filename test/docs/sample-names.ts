/**
 * What samples of the pages name and do not define: generated code, and objects of the application. Declarations in
 * TypeScript, for the compiler alone.
 */
export const SAMPLE_NAMES = `
type Grpc = typeof import('@grpc/grpc-js');
type Answer = (error: import('@grpc/grpc-js').ServiceError | null, answer: { text: string }) => void;
declare class EchoClient extends (null! as Grpc['Client']) {
  say(request: { text: string }, callback: Answer): import('@grpc/grpc-js').ClientUnaryCall;
}
declare class ShopClient extends (null! as Grpc['Client']) {}
declare const client: EchoClient;
declare const request: { text: string };
declare const callback: Answer;
declare const metadata: import('@grpc/grpc-js').Metadata;
declare const headers: import('@grpc/grpc-js').Metadata;
declare const server: import('@grpc/grpc-js').Server;
declare const adminServer: import('@grpc/grpc-js').Server;
declare const tracerProvider: import('@opentelemetry/api').TracerProvider;
declare const queue: readonly unknown[];
declare const vault: { certificatesFor(role: string): { ca: Buffer; key: Buffer; certificate: Buffer } };
declare const versionPolicy: import('grpc-xds').LbPolicyDefinition<unknown>;
declare const snapshot: import('grpc-xds/control-plane').Snapshot;
declare const forCanaries: import('grpc-xds/control-plane').Snapshot;
declare const forOne: import('grpc-xds/control-plane').Snapshot;
declare const reporter: import('grpc-xds/orca').OrcaReporter;
declare const bytes: Uint8Array;
declare function verify(token: string): Promise<string | undefined>;
declare const listeners: readonly import('grpc-xds/control-plane').ResourceJson[];
declare const routes: readonly import('grpc-xds/control-plane').ResourceJson[];
declare const clusters: readonly import('grpc-xds/control-plane').ResourceJson[];
declare const endpoints: readonly import('grpc-xds/control-plane').ResourceJson[];
declare const moreEndpoints: import('grpc-xds/control-plane').ResourceJson;
`;
