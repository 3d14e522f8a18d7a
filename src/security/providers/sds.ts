import { isLocalTarget } from '../../util/server-uri';
import type { Bootstrap, ServerConfig } from '../../bootstrap/bootstrap';
import { type CredentialsSupport, parseServer } from '../../bootstrap/server-config-parser';
import { type JsonFields, readNonEmptyString, readObject } from '../../util/json-fields';
import type { Clock } from '../../util/clock';
import type { Violations } from '../../util/violations';
import type { Random } from '../../util/random';
import { createBudgets, type Budgets } from '../../xds-client/budgets';
import type { UserAgent } from '../../xds-client/management-servers';
import type { ResourceType } from '../../xds-client/resource-type';
import { SEPARATE_STREAMS_FEATURE } from '../../xds-client/server-policy';
import { withConnectionOptions, type XdsTransportFactory } from '../../xds-client/transport';
import { XdsClient, type XdsClientOptions } from '../../xds-client/xds-client';
import { withoutTime } from '../../xds-client/xds-errors';
import {
  subjectOf,
  type CertificateProviderContext,
  type CertificateProviderType,
} from './certificate-provider';
import { createIdentitySecretType, createRootsSecretType, type Secret } from './secret-parser';
import type { LastGood } from '../../util/last-good';
import { quoteName } from '../../util/text';
import { WatchedCertificates } from './watched-certificates';

/** A secret discovery server, and the secrets of a client at it. */
export interface SdsConfig {
  readonly server: ServerConfig;
  /** The secret with the client's certificate and key (`tls_certificate_secret`). Default: `default`. */
  readonly identityName: string;
  /** The secret with the trusted authorities (`validation_context_secret`). Default: `ROOTCA`. */
  readonly rootsName: string;
}

/** The names at the agents of SPIRE and of Istio, unless they are configured otherwise. */
const DEFAULT_IDENTITY_NAME = 'default';
const DEFAULT_ROOTS_NAME = 'ROOTCA';

/**
 * Parses the `config` of an instance of `sds`: `sds_server`, of the same form as an element of `xds_servers`, and the names
 * of the secrets. Unknown fields are ignored.
 *
 * @returns `undefined` after adding a violation.
 */
export function parseSdsConfig(
  config: unknown,
  support: CredentialsSupport,
  violations: Violations,
): SdsConfig | undefined {
  const before = violations.count;
  const fields = readObject(config ?? {}, violations) ?? new Map<string, unknown>();
  const server = readServer(fields, support, violations.at('sds_server'));
  const identityName =
    readNonEmptyString(fields, 'tls_certificate_secret', violations) ?? DEFAULT_IDENTITY_NAME;
  const rootsName =
    readNonEmptyString(fields, 'validation_context_secret', violations) ?? DEFAULT_ROOTS_NAME;
  if (server === undefined || violations.count > before) return undefined;
  return { server, identityName, rootsName };
}

function readServer(
  fields: JsonFields,
  support: CredentialsSupport,
  violations: Violations,
): ServerConfig | undefined {
  if (!fields.has('sds_server')) return violations.add('field not present');
  const server = parseServer(fields.get('sds_server'), support, violations);
  if (server === undefined) return undefined;
  const { serverUri, channelCreds } = server;
  if (server.fetch !== undefined) {
    return violations.at('server_uri').add('must be a gRPC target: secrets are sent over gRPC');
  }
  if (channelCreds.type === 'insecure' && !isLocalTarget(serverUri)) {
    return violations
      .at('channel_creds')
      .add(
        'type "insecure" needs a unix: socket or a loopback address: keys would be sent in clear',
      );
  }
  return server;
}

/** The environment of the provider `sds`. */
export interface SdsOptions {
  /** The supported types of credentials for connections to secret discovery servers. */
  readonly support: CredentialsSupport;
  readonly transportFactory: XdsTransportFactory;
  readonly random: Random;
  readonly userAgent: UserAgent;
  /** Whether secrets may have authorities for one trust domain each (gRFC A87). */
  readonly spiffeBundles: boolean;
  /** Whether gRFC A88 applies. */
  readonly dataErrorHandling: boolean;
  readonly clock: Clock;
}

/** SPIRE sends the authorities of trust domains only to clients of this version of Envoy's protocol or a later one. */
const BUILD_VERSION = { majorNumber: 1, minorNumber: 18, patch: 0 };

/**
 * Creates the certificate provider `sds`: certificates, keys and authorities from a secret discovery server, such as the
 * agents of SPIRE and Istio, over the protocol of every other resource. They are on no disk. Names of certificates have no
 * meaning: every name has the same two secrets.
 */
export function createSds(options: SdsOptions): CertificateProviderType<SdsConfig> {
  // Of all instances: each would otherwise have a share of the time of its own.
  const budgets = createBudgets({}, options.clock.monotonicMs());
  return {
    name: 'sds',
    isPerNode: true,
    parseConfig: (config, violations) => parseSdsConfig(config, options.support, violations),
    create(config, context) {
      const secrets = new Secrets(config, context, { ...options, budgets });
      return { watch: (_certificateName, onChanged) => secrets.watch(onChanged) };
    },
  };
}

/**
 * The two secrets at a secret discovery server, as last accepted. Each has a stream of its own, as in Envoy: the agents of SPIRE
 * and Istio end a stream when one of the secrets on it is not available.
 */
class Secrets extends WatchedCertificates {
  private clients: readonly XdsClient[] = [];

  constructor(
    private readonly config: SdsConfig,
    private readonly context: CertificateProviderContext,
    private readonly options: SdsOptions & { readonly budgets: Budgets },
  ) {
    const { clock, logger } = context;
    const nounOf = (name: string) => `Secret ${quoteName(name)}`;
    super(
      { subject: subjectOf(context), logsFirstFailure: true, clock, logger },
      { roots: nounOf(config.rootsName), identity: nounOf(config.identityName) },
    );
  }

  protected start(): void {
    const { identityName, rootsName } = this.config;
    this.clients = [
      this.request(createIdentitySecretType(), identityName, this.identity),
      this.request(createRootsSecretType(this.options.spiffeBundles), rootsName, this.roots),
    ];
  }

  /** Ends the streams. */
  protected stop(): void {
    for (const client of this.clients) client.close();
  }

  /** Requests a secret. One that was removed, or has expired, stays in use: calls would fail without it. */
  private request<T extends object>(
    type: ResourceType<Secret<T>>,
    name: string,
    secret: LastGood<T>,
  ): XdsClient {
    const client = new XdsClient(
      createClientOptions(this.config.server, this.context, this.options),
    );
    client.watch(type, name, {
      onResourceChanged: (update) => {
        const isChanged = update.ok
          ? secret.replace(update.value.value)
          : secret.fail(withoutTime(update.error));
        if (isChanged) this.notify();
      },
      onAmbientError(error) {
        if (error === undefined) secret.recover();
        else secret.fail(withoutTime(error));
      },
    });
    return client;
  }
}

/** The options of a client of its own: nothing that shows the resources of other clients can show a secret. */
function createClientOptions(
  server: SdsConfig['server'],
  { instanceName, node, clock, logger, connectionOptions }: CertificateProviderContext,
  options: SdsOptions & { readonly budgets: Budgets },
): XdsClientOptions {
  const transportFactory = withConnectionOptions(options.transportFactory, connectionOptions);
  const { random, dataErrorHandling, userAgent, budgets } = options;
  const features = new Set([...server.features, SEPARATE_STREAMS_FEATURE]);
  const bootstrap: Bootstrap = {
    source: `certificate_providers[${JSON.stringify(instanceName)}]`,
    servers: [{ ...server, features }],
    node,
    authorities: new Map(),
    clientDefaultListenerResourceNameTemplate: '%s',
    certificateProviders: new Map(),
  };
  return {
    bootstrap,
    transportFactory,
    dataErrorHandling,
    clock,
    random,
    logger,
    budgets,
    userAgent: { ...userAgent, buildVersion: BUILD_VERSION },
    // The names of secrets are those of the server: SPIFFE IDs, or plain text.
    federation: false,
  };
}
