import type { ServerCredentials } from '../../grpc-js';
import type { HttpFilterRegistry } from '../../http-filters/registry';
import type { FilterChain, SocketListener } from '../../resources/listener/listener';
import type { RouteConfigResource } from '../../resources/route-config/route-config';
import type { CertificateInstance, DownstreamTls } from '../../resources/tls/tls';
import type { CertificateSource } from '../../security/providers/certificate-provider';
import type { Clock } from '../../util/clock';
import { createHandle, type Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import { HandshakeLog } from '../credentials/handshake-log';
import { ServerTlsCredentials } from '../credentials/server-tls-credentials';
import { labelOf } from '../observation/describe-chain';
import { Refusals } from '../observation/refusals';
import type { ServerCounts } from '../observation/server-counts';
import { ServerRouteTable, type ServerRouteTableOptions } from '../routes/server-route-table';
import { chainsOf, type ListenerService } from './bound-address';
import { ServedChain } from './served-chain';
import type { CreateInjector, ServerLimits } from './server-connection';

export interface XdsListenerServiceOptions {
  /** The credentials of the application. */
  readonly credentials: ServerCredentials;
  /** Those for chains without TLS; `undefined` if `credentials` are for all chains. */
  readonly fallback: ServerCredentials | undefined;
  readonly createInjector: CreateInjector;
  readonly limits: ServerLimits;
  readonly enableTrace: boolean;
  readonly certificates: CertificateSource;
  readonly registry: HttpFilterRegistry;
  readonly routing: ServerRouteTableOptions;
  /** Begins the messages of the log; ends in a space. */
  readonly subject: string;
  /** As it was given to `bindAsync`. */
  readonly address: string;
  readonly counts: ServerCounts;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Serves listeners as the control plane configures them: its TLS over the credentials of the application, its routes and filters. */
export class XdsListenerService implements ListenerService {
  private readonly handshakes: HandshakeLog;
  private readonly refusals: Refusals;
  /** By these, the certificates of the listener in use are loaded before its first connection. */
  private loaded: readonly Handle[] = [];
  /** The routes of chains that no request can use. */
  private readonly wrongRoutes = new Set<string>();

  constructor(private readonly options: XdsListenerServiceOptions) {
    const { counts, certificates } = options;
    const onHandshake = (cause: string) => counts.addHandshake(cause);
    this.handshakes = new HandshakeLog({ ...options, onHandshake });
    this.refusals = new Refusals({ ...options, nodeId: certificates.nodeId });
  }

  prepare(listener: SocketListener | undefined): void {
    const { loaded } = this;
    this.loaded = this.load(listener);
    for (const handle of loaded) handle.release();
  }

  createChain(chain: FilterChain): ServedChain {
    const { credentials, createInjector, limits, enableTrace, subject, clock, logger, counts } =
      this.options;
    const used = this.credentialsOf(chain.tls);
    const label = labelOf(chain);
    return new ServedChain({
      createInjector,
      limits,
      clock,
      refusals: this.refusals,
      calls: counts.calls,
      onJudged: (request, refusal) => counts.recent.add(label, request, refusal),
      credentials: used,
      interceptors: credentials._getInterceptors(),
      tls: {
        subject,
        enableTrace,
        logger,
        onHandshake: (cause) => counts.addHandshake(cause),
        isReported: used instanceof ServerTlsCredentials,
      },
    });
  }

  compileRoutes(chain: FilterChain, routeConfig: RouteConfigResource): ServerRouteTable {
    const { registry, routing } = this.options;
    const { httpFilters } = chain.httpConnectionManager;
    const table = new ServerRouteTable({ ...routing, routeConfig, httpFilters, registry });
    this.logRoutes(`${labelOf(chain)}\n${routeConfig.name}`, table);
    return table;
  }

  /** Logs each version of routes that no request can use, and the first one afterwards (gRFC A36). */
  private logRoutes(key: string, { name, problem }: ServerRouteTable): void {
    const { logger, subject } = this.options;
    if (problem !== undefined) {
      this.wrongRoutes.add(key);
      logger.error(() => subject + problem);
    } else if (this.wrongRoutes.delete(key)) {
      logger.info(() => `${subject}${name}: every route can be used again`, { event: 'recovered' });
    }
  }

  private credentialsOf(tls: DownstreamTls | undefined): ServerCredentials {
    const { credentials, fallback, certificates, subject, clock, logger } = this.options;
    if (fallback === undefined) return credentials;
    if (tls === undefined) return fallback;
    const log = this.handshakes;
    return new ServerTlsCredentials({ tls, certificates, subject, clock, logger, log });
  }

  /** The fallback, too, may have certificates that it loads while it is watched. */
  private load(listener: SocketListener | undefined): readonly Handle[] {
    if (listener === undefined) return [];
    const { credentials, fallback, certificates } = this.options;
    const plain = fallback ?? credentials;
    const watcher = () => undefined;
    plain._addWatcher(watcher);
    const handles = [createHandle(() => plain._removeWatcher(watcher))];
    if (fallback === undefined) return handles;
    for (const { instanceName, certificateName } of instancesOf(listener)) {
      handles.push(certificates.watch(instanceName, certificateName, () => undefined));
    }
    return handles;
  }
}

/** Returns the certificates that a listener uses, each once. */
function instancesOf(listener: SocketListener): readonly CertificateInstance[] {
  const instances = new Map<string, CertificateInstance>();
  for (const { tls } of chainsOf(listener)) {
    const roots = tls?.clientValidation?.rootCertificates;
    for (const each of [tls?.identity, roots?.kind === 'instance' ? roots : undefined]) {
      if (each !== undefined) instances.set(`${each.instanceName}\n${each.certificateName}`, each);
    }
  }
  return [...instances.values()];
}
