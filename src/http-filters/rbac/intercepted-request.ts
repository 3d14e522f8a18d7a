import type { Metadata } from '../../grpc-js';
import type { ConnectionEnds } from '../../util/connection-ends';
import type { Result } from '../../util/result';
import type { AuthorizationRequest } from './request';

/** What authorizations read of a connection, which all of its calls have in common. */
export type RequestConnection = Pick<AuthorizationRequest, 'local' | 'remote' | 'tls'>;

/**
 * Returns the connection with these ends, as an interceptor of `@grpc/grpc-js` gets them.
 *
 * @param security What secures it, or why that is not known; called when it is read.
 */
export function requestConnection(
  { localAddress, localPort, remoteAddress, remotePort }: ConnectionEnds,
  security: () => Result<AuthorizationRequest['tls'], string>,
): RequestConnection {
  return {
    local: { address: localAddress ?? '', port: localPort ?? 0 },
    remote: { address: remoteAddress ?? '', port: remotePort ?? 0 },
    get tls() {
      const tls = security();
      if (tls.ok) return tls.value;
      throw new Error(tls.error);
    },
  };
}

/** What grpc-js accepts, and then hides from interceptors. */
const assumedContentType = (): string => 'application/grpc';

/** A call of a server as authorizations read it. */
export class InterceptedRequest implements AuthorizationRequest {
  constructor(
    readonly path: string,
    private readonly metadata: Metadata,
    private readonly call: { getHost(): string },
    private readonly connection: RequestConnection,
    /** Returns what the client has sent. */
    private readonly contentType = assumedContentType,
  ) {}

  get local(): AuthorizationRequest['local'] {
    return this.connection.local;
  }

  get remote(): AuthorizationRequest['remote'] {
    return this.connection.remote;
  }

  get tls(): AuthorizationRequest['tls'] {
    return this.connection.tls;
  }

  header(name: string): string | undefined {
    switch (name) {
      case ':path':
        return this.path;
      case ':authority':
        return this.call.getHost();
      case 'content-type':
        return this.contentType();
      // grpc-js leaves it in the headers beside the authority, for which it stands.
      case 'host':
        return undefined;
      default:
        return headerOf(this.metadata, name);
    }
  }
}

/** Repeated values are joined by a comma, binary ones in base64 without padding (gRFC A41). Names of pseudo headers are no names of metadata. */
function headerOf(metadata: Metadata, name: string): string | undefined {
  if (name.startsWith(':')) return undefined;
  const values = metadata.get(name);
  if (values.length === 0) return undefined;
  return values.map((value) => (typeof value === 'string' ? value : toBase64(value))).join(',');
}

function toBase64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/={1,2}$/, '');
}
