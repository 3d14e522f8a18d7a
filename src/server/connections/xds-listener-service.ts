import type { ServerCredentials } from '../../grpc-js';
import type { HttpFilterRegistry } from '../../http-filters/registry';
import type { FilterChain, SocketListener } from '../../resources/listener/listener';
import type { DownstreamTls } from '../../resources/tls/tls';
import type { CertificateSource } from '../../security/providers/certificate-provider';
import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import { err, ok, type Result } from '../../util/result';
import type { Steps } from '../../util/steps';
import { HandshakeLog } from '../credentials/handshake-log';
import { ServerTlsCredentials } from '../credentials/server-tls-credentials';
import type { ListenerWatchContract } from '../listener/listener-watch';
import { ServerRouteTable, type ServerRouteTableOptions } from '../routes/server-route-table';
import type { XdsServerCredentials } from '../xds-server-credentials';
import type { ListenerService } from './bound-address';
import { RefusalLog } from './refusal-log';
import { ServedChain } from './served-chain';
import type { CreateInjector } from './server-connection';

export interface XdsListenerServiceOptions {
  /** The credentials of the application. */
  readonly credentials: ServerCredentials | XdsServerCredentials;
  /** Those for chains without TLS; `undefined` if `credentials` are for all chains. */
  readonly fallback: ServerCredentials | undefined;
  readonly createInjector: CreateInjector;
  readonly enableTrace: boolean;
  readonly certificates: CertificateSource;
  readonly registry: HttpFilterRegistry;
  readonly routing: ServerRouteTableOptions;
  /** Begins the messages of the log; ends in a space. */
  readonly subject: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Serves listeners as the control plane configures them: its TLS over the credentials of the application, its routes and filters. */
export class XdsListenerService implements ListenerService {
  private readonly handshakes: HandshakeLog;
  private readonly refusals: RefusalLog;
  /** What keeps the certificates of the listener in use loaded: chains watch them from their first connection on. */
  private watched = new Map<string, Handle>();
}
