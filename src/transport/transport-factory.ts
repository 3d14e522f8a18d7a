import type { ServerConfig } from '../bootstrap/bootstrap';
import type { Limits } from '../bootstrap/limits';
import { serverProtocol } from '../util/server-uri';
import { assertNever } from '../util/errors';
import type { Clock } from '../util/clock';
import type { Logger } from '../util/logger';
import type { Random } from '../util/random';
import type { Result } from '../util/result';
import type { ConnectionOptions, XdsTransport, XdsTransportFactory } from '../xds-client/transport';
import type * as Files from './file/file-transport';
import { GrpcTransportFactory } from './grpc-transport';
import type * as Rest from './rest/rest-transport';
import { lazy } from '../util/lazy';

const loadFiles = lazy<typeof Files>(() => require('./file/file-transport'));
const loadRest = lazy<typeof Rest>(() => require('./rest/rest-transport'));

/** Constructor options of a transport factory. */
export interface TransportFactoryOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits: Limits;
  readonly credentials: ConstructorParameters<typeof GrpcTransportFactory>[0]['credentials'] &
    Rest.RestCredentials;
}

/** Creates the transport for the URI of a server. Other transports than gRPC are loaded when the first one is created. */
export class TransportFactory implements XdsTransportFactory {
  private readonly grpc: GrpcTransportFactory;
  private readonly shared: Rest.SharedByTransports = {};

  constructor(private readonly options: TransportFactoryOptions) {
    this.grpc = new GrpcTransportFactory(options);
  }

  /** See `XdsTransportFactory`. The options are those of gRPC channels: other transports have no use for them. */
  create(server: ServerConfig, connection?: ConnectionOptions): Result<XdsTransport, string> {
    const protocol = serverProtocol(server.serverUri);
    switch (protocol) {
      case 'grpc':
        return this.grpc.create(server, connection);
      case 'file':
        return loadFiles().createFileTransport(server, this.options);
      case 'http':
      case 'https':
        return loadRest().createRestTransport(server, { ...this.options, shared: this.shared });
      default:
        return assertNever(protocol);
    }
  }
}
