import type { Bootstrap } from '../../../bootstrap/bootstrap';
import type { CredentialsSupport } from '../../../bootstrap/server-config-parser';
import type { Clock } from '../../../util/clock';
import { createHandle } from '../../../util/handle';
import type { Random } from '../../../util/random';
import { TimeBudget } from '../../../xds-client/budgets';
import { DEFAULT_TIME_PERCENT } from '../../../xds-client/limits';
import type { UserAgent } from '../../../xds-client/management-servers';
import type { ResourceType } from '../../../xds-client/resource-type';
import { SEPARATE_STREAMS_FEATURE } from '../../../xds-client/server-policy';
import { withConnectionOptions, type XdsTransportFactory } from '../../../xds-client/transport';
import type { XdsClientOptions } from '../../../xds-client/xds-client';
import type {
  CertificateProvider,
  CertificateProviderContext,
  CertificateProviderType,
} from '../certificate-provider';
import { parseSdsConfig, type SdsConfig } from './config';
import { createIdentitySecretType, createRootsSecretType, type Secret } from './secret-parser';
import type { PayForWork } from '../work-payers';
import { WatchedSecret } from './watched-secret';

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
}

/** What the instances of a process share. */
interface SharedOptions extends SdsOptions {
  /** Taken from by the responses of every secret discovery server. */
  readonly time: TimeBudget;
  /** Takes from it what secrets cost after they were received: once, if they are of several instances. */
  readonly pay: PayForWork;
}

/** SPIRE sends the authorities of trust domains only to clients of this version of Envoy's protocol or a later one. */
const BUILD_VERSION = { majorNumber: 1, minorNumber: 18, patch: 0 };

/**
 * Creates the certificate provider `sds`: certificates, keys and authorities from a secret discovery server, such as the
 * agents of SPIRE and Istio, over the protocol of every other resource. They are on no disk. Names of certificates have no
 * meaning: every name has the same two secrets.
 */
export function createSds(options: SdsOptions): CertificateProviderType<SdsConfig> {
  // One for all instances: each would otherwise have a share of the time of its own.
  let shared: SharedOptions | undefined;
  return {
    name: 'sds',
    isPerNode: true,
    parseConfig: (config, violations) => parseSdsConfig(config, options.support, violations),
    create(config, context) {
      shared ??= share(options, context.clock);
      return createProvider(config, context, shared);
    },
  };
}

function share(options: SdsOptions, clock: Clock): SharedOptions {
  const time = new TimeBudget(DEFAULT_TIME_PERCENT / 100, clock.monotonicMs());
  return { ...options, time, pay: (durationMs) => time.spend(durationMs, clock.monotonicMs()) };
}

function createProvider(
  { server, identityName, rootsName }: SdsConfig,
  context: CertificateProviderContext,
  options: SharedOptions,
): CertificateProvider {
  const { pay } = options;
  const watchers = new Set<() => void>();
  const client = createClientOptions(server, context, options);
  const watch = <T extends object>(
    type: ResourceType<Secret<T>>,
    name: string,
  ): WatchedSecret<T> => {
    const onChanged = () => {
      for (const notify of [...watchers]) notify();
    };
    const subject = `certificate provider instance "${context.instanceName}": `;
    const secret = new WatchedSecret<T>({ type, name, subject, client, pay, onChanged });
    secret.start();
    return secret;
  };
  const identity = watch(createIdentitySecretType(), identityName);
  const roots = watch(createRootsSecretType(options.spiffeBundles), rootsName);
  return {
    watch(_certificateName, onChanged) {
      const watcher = () => onChanged();
      watchers.add(watcher);
      const handle = createHandle(() => watchers.delete(watcher));
      return {
        get current() {
          return { roots: roots.result, identity: identity.result };
        },
        release: () => handle.release(),
      };
    },
    close() {
      identity.close();
      roots.close();
    },
  };
}

/** The options of a client of its own: nothing that shows the resources of other clients can show a secret. */
function createClientOptions(
  server: SdsConfig['server'],
  { instanceName, node, clock, logger, connectionOptions }: CertificateProviderContext,
  options: SharedOptions,
): XdsClientOptions {
  const transportFactory = withConnectionOptions(options.transportFactory, connectionOptions);
  const { random, dataErrorHandling, userAgent, time } = options;
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
    ...{ bootstrap, transportFactory, dataErrorHandling, clock, random, logger, time },
    userAgent: { ...userAgent, buildVersion: BUILD_VERSION },
    // The names of secrets are those of the server: SPIFFE IDs, or plain text.
    federation: false,
  };
}
