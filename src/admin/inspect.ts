import { X509Certificate } from 'node:crypto';
import type { LiveResolution } from '../resolver/live-resolutions';
import type { PolicyState } from '../lb/tree/policy-state';
import type { CertificatesInUse } from '../security/certificate-providers';
import type { Clock } from '../util/clock';
import { PACKAGE_VERSION } from '../util/version';
import type {
  ClientSnapshot,
  ResourceSnapshot,
  ServerSnapshot,
} from '../xds-client/client-snapshot';
import type * as ResourceJson from './resource-json';

/** What a report has in it. */
export interface InspectOptions {
  /** The only target in the report, such as `xds:///shop`. Default: all of the process. */
  readonly target?: string;
  /** Whether resources are included as JSON. Default: `false`. */
  readonly contents?: boolean;
  /** The size of the encoded resources that are included; those beyond it are left out. Default: 8 MiB. */
  readonly maxBytes?: number;
}

/**
 * The state of the xDS client of a process, as plain JSON. Members may be added; those that are there keep their meaning
 * as long as `schema` is 1. It has no keys, tokens or credentials. Times are ISO 8601 in UTC.
 */
export interface InspectReport {
  readonly schema: 1;
  readonly package: string;
  readonly version: string;
  readonly pid: number;
  readonly time: string;
  /** One for each target that a channel of this process uses. */
  readonly targets: readonly TargetReport[];
  /** The certificates of providers that clusters use. */
  readonly certificates: readonly CertificatesReport[];
}

/** The state of one target. */
export interface TargetReport {
  readonly target: string;
  /** The ids of its clients to management servers. */
  readonly nodeId: string;
  readonly state: 'ready' | 'waiting' | 'failed';
  /** Why calls fail; only if the state is `failed`. */
  readonly failure?: string;
  /** One line for each pending resource. */
  readonly waitingFor: readonly string[];
  /** The config in use. */
  readonly config?: {
    readonly listener: string;
    readonly routeConfig: string;
    readonly virtualHost: string;
    /** The number of routes. */
    readonly routes: number;
    readonly clusters: readonly { readonly name: string; readonly error?: string }[];
  };
  /** The load-balancing policies of the channel, with the state of each endpoint. */
  readonly policies?: PolicyState;
  readonly servers: readonly ServerSnapshot[];
  readonly resources: readonly ResourceReport[];
  /** The last changes of these resources, the oldest first. */
  readonly changes: readonly ChangeReport[];
}

/** The state of one resource. */
export interface ResourceReport {
  /** Such as `Cluster`. */
  readonly type: string;
  readonly name: string;
  readonly status: ResourceSnapshot['status'];
  /** Of the value in use. */
  readonly version?: string;
  readonly updatedAt?: string;
  /** The size of the encoded value. */
  readonly bytes?: number;
  readonly watchers: number;
  readonly waitingSince?: string;
  /** The latest rejection or error. */
  readonly failure?: { readonly version: string; readonly details: string; readonly at: string };
  /** The fields that it sets without an effect on calls. */
  readonly unusedFields: readonly string[];
  /** The value as JSON, or why it is left out; only if contents are included. */
  readonly contents?: unknown;
}

/** A change of a resource at one server. */
export interface ChangeReport {
  readonly at: string;
  readonly serverUri: string;
  readonly type: string;
  readonly name: string;
  readonly kind: ClientSnapshot['changes'][number]['kind'];
  readonly version: string;
  /** What changed, or why there is no new value. */
  readonly text: string;
}

/** The certificates of one name of a provider instance. */
export interface CertificatesReport {
  readonly instance: string;
  readonly plugin: string;
  readonly name: string;
  readonly identity: CertificateState;
  readonly roots: CertificateState;
}

/** The state of an identity or of roots. */
export type CertificateState =
  | { readonly state: 'pending' }
  | { readonly state: 'failed'; readonly error: string }
  | {
      readonly state: 'ready';
      /** How many certificates there are. */
      readonly certificates: number;
      /** When the first of them expires. */
      readonly expiresAt: string;
    };

/** The parts of the process that a report describes. */
export interface InspectedProcess {
  readonly resolutions: readonly LiveResolution[];
  /** The clients, each with its target as scope. */
  readonly clients: readonly {
    readonly scope: string;
    readonly nodeId: string;
    readonly snapshot: () => ClientSnapshot;
  }[];
  readonly certificates: readonly CertificatesInUse[];
  readonly describePolicies: (resolution: LiveResolution) => PolicyState | undefined;
  readonly describeUnusedFields: (typeUrl: string, bytes: Uint8Array) => readonly string[];
}

/** A process without channels for xds: targets. */
const NOTHING: InspectedProcess = {
  ...{ resolutions: [], clients: [], certificates: [] },
  describePolicies: () => undefined,
  describeUnusedFields: () => [],
};

const DEFAULT_MAX_BYTES = 8 * 2 ** 20;
/** The number of pending resources that are named for each target. */
const MAX_WAITS = 100;

/** Reports the state of a process. Default: one without channels. */
export function inspectProcess(
  options: InspectOptions,
  clock: Clock,
  inspected = NOTHING,
): InspectReport {
  const contents = options.contents === true ? new Contents(options.maxBytes) : undefined;
  const targets = inspected.clients.filter(
    ({ scope }) => options.target === undefined || options.target === scope,
  );
  return {
    ...{ schema: 1, package: 'grpc-xds', version: PACKAGE_VERSION, pid: process.pid },
    time: toIso(clock.now()),
    targets: targets.map(({ scope, nodeId, snapshot }) => ({
      ...{ target: scope, nodeId },
      ...describeTarget(inspected, scope),
      ...describeClient(snapshot(), inspected, contents),
    })),
    certificates: inspected.certificates.map(describeCertificates),
  };
}

/** Returns the resolution of a target, if possible one with a config, the latest of several. */
export function findResolution(
  resolutions: readonly LiveResolution[],
  target: string,
): LiveResolution | undefined {
  const ofTarget = resolutions.filter((resolution) => resolution.target === target);
  return ofTarget.findLast(({ live }) => live !== undefined) ?? ofTarget.at(-1);
}

/** Describes the config of a target and the policies of its channel. */
export function describeTarget(
  { resolutions, describePolicies }: InspectedProcess,
  target: string,
): Pick<TargetReport, 'state' | 'failure' | 'waitingFor' | 'config' | 'policies'> {
  const resolution = findResolution(resolutions, target);
  if (resolution === undefined) return { state: 'waiting', waitingFor: [] };
  const { failure, live } = resolution;
  const waitingFor = resolution.waitingFor(MAX_WAITS);
  const policies = describePolicies(resolution);
  const state = live !== undefined ? 'ready' : failure !== undefined ? 'failed' : 'waiting';
  return {
    ...{ state, waitingFor },
    ...(failure !== undefined && { failure }),
    ...(live !== undefined && { config: describeConfig(live) }),
    ...(policies !== undefined && { policies }),
  };
}

function describeConfig({
  config: { listener, routeConfig, virtualHost, clusters },
}: NonNullable<LiveResolution['live']>): NonNullable<TargetReport['config']> {
  return {
    ...{ listener: listener.name, routeConfig: routeConfig.name, virtualHost: virtualHost.name },
    routes: virtualHost.routes.length,
    clusters: [...clusters].map(([name, result]) =>
      result.ok ? { name } : { name, error: result.error },
    ),
  };
}

function describeClient(
  { servers, resources, changes }: ClientSnapshot,
  { describeUnusedFields }: InspectedProcess,
  contents: Contents | undefined,
): Pick<TargetReport, 'servers' | 'resources' | 'changes'> {
  return {
    servers,
    resources: resources.map((resource): ResourceReport => {
      const { accepted } = resource;
      return {
        ...describeResource(resource),
        unusedFields: accepted ? describeUnusedFields(resource.typeUrl, accepted.bytes) : [],
        ...(contents && accepted && { contents: contents.of(resource.typeUrl, accepted.bytes) }),
      };
    }),
    changes: changes.map(({ atMs, typeUrl, ...change }) => ({
      at: toIso(atMs),
      type: shortName(typeUrl),
      ...change,
    })),
  };
}

/** Describes a resource, without its contents. */
export function describeResource({
  typeUrl,
  name,
  status,
  accepted,
  failure,
  watchers,
  waitingSinceMs,
}: ResourceSnapshot): Omit<ResourceReport, 'unusedFields'> {
  return {
    ...{ type: shortName(typeUrl), name, status, watchers },
    ...(accepted && {
      version: accepted.version,
      updatedAt: toIso(accepted.updatedAtMs),
      bytes: accepted.bytes.length,
    }),
    ...(failure && {
      failure: { version: failure.version, details: failure.details, at: toIso(failure.atMs) },
    }),
    ...(waitingSinceMs !== undefined && { waitingSince: toIso(waitingSinceMs) }),
  };
}

/** Describes the certificates of a provider. */
export function describeCertificates({
  instanceName: instance,
  pluginName: plugin,
  certificateName: name,
  current: { identity, roots },
}: CertificatesInUse): CertificatesReport {
  return {
    ...{ instance, plugin, name },
    identity: describeState(identity, ({ certificateChain }) => splitPem(certificateChain)),
    roots: describeState(roots, ({ certificates }) => certificates),
  };
}

function describeState<T>(
  result:
    | { readonly ok: true; readonly value: T }
    | { readonly ok: false; readonly error: string }
    | undefined,
  read: (value: T) => readonly string[],
): CertificateState {
  if (result === undefined) return { state: 'pending' };
  if (!result.ok) return { state: 'failed', error: result.error };
  const pems = read(result.value);
  const expiries = pems.map((pem) => Date.parse(new X509Certificate(pem).validTo));
  return { state: 'ready', certificates: pems.length, expiresAt: toIso(Math.min(...expiries)) };
}

function splitPem(chain: string): readonly string[] {
  return chain.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}

/** The contents of resources, up to a size. */
class Contents {
  private left: number;

  constructor(maxBytes = DEFAULT_MAX_BYTES) {
    this.left = maxBytes;
  }

  of(typeUrl: string, bytes: Uint8Array): unknown {
    if (bytes.length > this.left)
      return `left out: ${bytes.length} bytes, more than maxBytes allows`;
    this.left -= bytes.length;
    return loadResourceJson().resourceToJson(typeUrl, bytes);
  }
}

/** Returns the name of a type without its package. */
export function shortName(typeUrl: string): string {
  return typeUrl.slice(typeUrl.lastIndexOf('.') + 1);
}

/** Formats a time. */
export function toIso(ms: number): string {
  return new Date(ms).toISOString();
}

/** Loaded late: the descriptors of all messages take longer to load than everything else here. */
export function loadResourceJson(): typeof ResourceJson {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- loads the module on first use, synchronously; the type is that of the module
  return require('./resource-json');
}
