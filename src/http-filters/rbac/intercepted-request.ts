import type { Metadata } from '../../grpc-js';
import type { AuthorizationRequest } from './request';

/** A call of a server, as an interceptor of `@grpc/grpc-js` gets it. */
export interface InterceptedCall {
  getHost(): string;
  getConnectionInfo(): {
    readonly localAddress?: string | undefined;
    readonly localPort?: number | undefined;
    readonly remoteAddress?: string | undefined;
    readonly remotePort?: number | undefined;
  };
}

/** What grpc-js accepts, and then removes from the headers. */
const CONTENT_TYPE = 'application/grpc';

/** A call of a server as authorizations read it. */
export class InterceptedRequest implements AuthorizationRequest {
  readonly local: AuthorizationRequest['local'];
  readonly remote: AuthorizationRequest['remote'];

  constructor(
    readonly path: string,
    private readonly metadata: Metadata,
    private readonly call: InterceptedCall,
    readonly tls: AuthorizationRequest['tls'],
  ) {
    const { localAddress, localPort, remoteAddress, remotePort } = call.getConnectionInfo();
    this.local = { address: localAddress ?? '', port: localPort ?? 0 };
    this.remote = { address: remoteAddress ?? '', port: remotePort ?? 0 };
  }

  header(name: string): string | undefined {
    switch (name) {
      case ':path':
        return this.path;
      case ':authority':
        return this.call.getHost();
      case 'content-type':
        return CONTENT_TYPE;
      // grpc-js leaves it in the headers beside the authority, for which it stands.
      case 'host':
        return undefined;
      default:
        return headerOf(this.metadata, name);
    }
  }
}

/** Repeated values are joined by a comma, binary ones in base64 (gRFC A41). Names of pseudo headers are no names of metadata. */
function headerOf(metadata: Metadata, name: string): string | undefined {
  if (name.startsWith(':')) return undefined;
  const values = metadata.get(name);
  if (values.length === 0) return undefined;
  return values
    .map((value) => (typeof value === 'string' ? value : value.toString('base64')))
    .join(',');
}
