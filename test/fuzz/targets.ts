import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { isDeepStrictEqual } from 'node:util';
import { parseBootstrap } from '../../src/bootstrap/bootstrap-parser';
import { findJsonError } from '../../src/bootstrap/json-syntax';
import { CallCredentials } from '../../src/grpc-js';
import { XxHash64 } from '../../src/util/hashes';
import { createCompositeFilter } from '../../src/http-filters/composite/composite-filter';
import { createGcpAuthnFilter } from '../../src/http-filters/gcp-authn/gcp-authn-filter';
import { createFaultFilter } from '../../src/http-filters/fault/fault-filter';
import type { HttpFilter } from '../../src/http-filters/http-filter';
import { AuditLoggerRegistry } from '../../src/authorization/audit-logger';
import { createRbacFilter } from '../../src/http-filters/rbac/rbac-filter';
import { MatchMeter } from '../../src/resources/matching/match-meter';
import { HttpFilterRegistry } from '../../src/http-filters/registry';
import { routerFilter } from '../../src/http-filters/router/router-filter';
import { createStatefulSessionFilter } from '../../src/http-filters/stateful-session/stateful-session-filter';
import { createPolicyRegistry } from '../../src/lb/registry/create-policy-registry';
import { decodeLoadReport } from '../../src/lb/orca/call-load-report';
import { parseLrsResponse } from '../../src/xds-client/lrs/lrs-response';
import { Re2Compiler } from '../../src/resources/matching/re2-compiler';
import { createResourceTypes, type ResourceTypes } from '../../src/resources/resource-types';
import { CertificateProviderRegistry } from '../../src/security/providers/certificate-providers';
import { createFileWatcher } from '../../src/security/providers/file-watcher';
import { readResourceFile } from '../../src/transport/file/watched-files';
import { readResponse } from '../../src/transport/rest/discovery-json';
import { readFeatureFlags } from '../../src/util/feature-flags';
import { silentLogger } from '../../src/util/logger';
import type { Random } from '../../src/util/random';
import type { Result } from '../../src/util/result';
import { Violations } from '../../src/util/violations';
import { parseResourceName } from '../../src/xds-client/resource-name';
import {
  decodeWhole,
  type DecodeResult,
  type ResourceType,
} from '../../src/xds-client/resource-type';
import { serverWith } from '../resources/decode-json';
import { FakeClock } from '../support/fake-clock';
import { createAggregateTarget } from './aggregate-target';
import { createAuthorizationTargets } from './authorization-target';
import { createCallTarget } from './call-target';
import { createCertificateFileTargets } from './certificate-file-targets';
import { createEdgeTargets } from './edge-targets';
import { createKubernetesTargets } from './kubernetes-targets';
import { createPolicyTarget } from './policy-target';
import { JsonMutations } from './json-mutations';
import { checkRouting } from './routing';
import { createRequestTargets } from './request-targets';
import { createSanTarget } from './san-target';
import { createSecurityTarget } from './security-target';
import { createServerListenerTarget } from './server-listener-target';
import { createSecretTargets } from './secret-targets';
import { bootstrapSample } from './samples/bootstrap';
import { lbConfigSamples } from './samples/lb-configs';
import { encodedSamples } from './samples/messages';
import { documentSamples } from './samples/responses';
import { StreamTarget } from './stream-target';
import { WireMutations } from './wire-mutations';

/** Something that takes input from outside. */
export interface FuzzTarget {
  readonly name: string;
  /** How often it has its turn, compared with the others. Default 4. */
  readonly share?: number;
  /**
   * Milliseconds of CPU that a KiB of input may take, above a tenth of the limit that applies to every input: a small
   * input must not cost as much as the largest one may. Default: only that limit applies.
   */
  readonly maxMsPerKiB?: number;
  /** Makes up an input. */
  make(): Uint8Array | string;
  /** Takes an input. @returns what is wrong with what came of it, if anything. */
  run(input: Uint8Array | string): string | undefined | Promise<string | undefined>;
}

interface TextOptions {
  /** Levels that may be added. Default 50,000. */
  readonly maxDepth?: number;
  readonly share?: number;
}

/** YAML takes a tenth of a millisecond for each level, and only an operator can write it. */
const YAML: TextOptions = { maxDepth: 200, share: 1 };

/** Everything that takes input from outside, with inputs made from one source of randomness. The hash is ready. */
export function createTargets(random: Random, hash: XxHash64): readonly FuzzTarget[] {
  const types = createTypes();
  const wire = new WireMutations(random);
  const json = new JsonMutations(random);
  const pick = <T>(list: readonly T[]): T => {
    const item = list[Math.floor(random() * list.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  };
  const wireTarget = (
    messageName: string,
    run: (bytes: Uint8Array, original: Uint8Array) => string | undefined,
  ): FuzzTarget => {
    const samples = encodedSamples(messageName);
    if (samples.length === 0) throw new Error(`no samples of ${messageName}`);
    return {
      name: messageName.slice(messageName.lastIndexOf('.') + 1),
      make: () => wire.mutate(pick(samples)),
      run: (input) => run(Buffer.from(input), pick(samples)),
    };
  };
  const textTarget = (
    name: string,
    samples: readonly unknown[],
    run: (text: string) => string | undefined,
    { maxDepth = 50_000, share = 4 }: TextOptions = {},
  ): FuzzTarget => ({
    name,
    share,
    make: () => json.text(pick(samples), maxDepth),
    run: (input) => run(Buffer.from(input).toString()),
  });
  const readFile = (path: string, content: Uint8Array | string) =>
    explain(readResourceFile(path, Buffer.from(content), { ignoreUnknownFields: random() < 0.5 }));
  return [
    ...Object.values(types).map((type: ResourceType<unknown>) =>
      wireTarget(type.typeUrl.slice(type.typeUrl.indexOf('/') + 1), (bytes, original) =>
        decode(type, bytes, original),
      ),
    ),
    wireTarget('envoy.config.route.v3.RouteConfiguration', (bytes) =>
      checkRouting(types, bytes, random),
    ),
    ...(['sotw', 'delta'] as const).map((variant) => new StreamTarget(variant, types, wire, pick)),
    wireTarget('envoy.service.load_stats.v3.LoadStatsResponse', (bytes) =>
      explain(parseLrsResponse(bytes)),
    ),
    wireTarget('xds.data.orca.v3.OrcaLoadReport', (bytes) => void decodeLoadReport(bytes)),
    textTarget('bootstrap', [bootstrapSample], readBootstrap),
    textTarget('load-balancing config', lbConfigSamples, readLbConfig),
    textTarget('REST response', documentSamples, (text) => explain(readResponse(text))),
    textTarget('JSON file', documentSamples, (text) => readFile('x.json', text), YAML),
    textTarget('YAML file', documentSamples, (text) => readFile('x.yaml', text), YAML),
    {
      ...wireTarget('envoy.service.discovery.v3.DiscoveryResponse', (bytes) =>
        readFile('x.pb', bytes),
      ),
      name: 'binary file',
    },
    ...createEdgeTargets({ random, wire, json }),
    ...createKubernetesTargets({ random, json }),
    createAggregateTarget(random),
    ...createAuthorizationTargets(random, wire, json),
    createCallTarget({ random, json, hash }),
    createPolicyTarget(random, hash),
    createSanTarget(random),
    createSecurityTarget(random),
    createServerListenerTarget(random, wire),
    ...createCertificateFileTargets({ wire, json }),
    ...createSecretTargets(wire),
    ...createRequestTargets(wire),
    {
      name: 'resource name',
      make: () =>
        Buffer.from(wire.mutate(Buffer.from('xdstp://a/t.v3.T/b/c?d=e&f=g#h'))).toString(),
      run: (input) => explain(parseResourceName(Buffer.from(input).toString(), 't.v3.T'), true),
    },
  ];
}

const environment = {
  clock: new FakeClock(),
  random: () => 0.5,
  logger: silentLogger,
  flags: readFeatureFlags({}),
  hash: new XxHash64(),
  limits: DEFAULT_LIMITS,
};
const policies = createPolicyRegistry(environment);

/** The types of resources, with every filter and policy. */
export function createTypes(): ResourceTypes {
  const regexes = new Re2Compiler(DEFAULT_LIMITS);
  const meter = new MatchMeter(DEFAULT_LIMITS, silentLogger);
  const auditLoggers = new AuditLoggerRegistry();
  const builtIn: HttpFilter[] = [
    createRbacFilter({ regexes, meter, auditLoggers, logger: silentLogger }),
    createFaultFilter(environment),
    createStatefulSessionFilter(environment),
    createGcpAuthnFilter(() => CallCredentials.createEmpty()),
    routerFilter,
  ];
  const httpFilters = new HttpFilterRegistry(builtIn);
  const { random } = environment;
  httpFilters.register(createCompositeFilter({ filters: httpFilters, random, meter }));
  return createResourceTypes({
    systemRootCerts: true,
    sni: true,
    lbConfigs: policies,
    httpFilters,
    regexes,
    gcpAuthentication: true,
    httpConnect: true,
  });
}

const certificateInstances: ReadonlySet<string> = new Set(['mesh']);

function decode(
  type: ResourceType<unknown>,
  bytes: Uint8Array,
  original: Uint8Array,
): string | undefined {
  const context = { server: serverWith(), certificateProviders: certificateInstances };
  const { name, result } = decodeWhole(type, bytes, { ...context, previous: () => undefined });
  if (name !== type.peekName(bytes)) return 'the name depends on how it is read';
  if (result.ok && name === undefined) return 'a value without a name';
  if (!result.ok) return explain(result);
  const { result: before } = decodeWhole(type, original, { ...context, previous: () => undefined });
  const previous = before.ok ? before : undefined;
  const { result: changed } = decodeWhole(type, bytes, { ...context, previous: () => previous });
  if (isSameResult(changed, result)) return undefined;
  // Some values have functions in them, which are never equal.
  const { result: again } = decodeWhole(type, bytes, { ...context, previous: () => undefined });
  return isSameResult(again, result) ? 'the value depends on the one before' : undefined;
}

/** What is kept for the next version, and the change from the previous one, may differ. */
function isSameResult(a: DecodeResult<unknown>, b: DecodeResult<unknown>): boolean {
  return a.ok && b.ok ? isDeepStrictEqual(a.value, b.value) : isDeepStrictEqual(a, b);
}

const certificateProviders = new CertificateProviderRegistry();
certificateProviders.register(createFileWatcher({ spiffeBundles: true }));

function readBootstrap(text: string): string | undefined {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return findJsonError(text) === undefined ? 'no error found in what is no JSON' : undefined;
  }
  const support = {
    channelCreds: new Set(['google_default', 'insecure', 'tls']),
    callCreds: new Set(['jwt_token_file']),
    certificateProviders,
  };
  return explain(parseBootstrap(json, 'fuzz', support), true);
}

function readLbConfig(text: string): string | undefined {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return undefined;
  }
  const violations = Violations.root();
  const config = policies.fromJson(json, violations);
  return (config === undefined) === violations.count > 0
    ? undefined
    : 'neither a config nor a reason';
}

/** What is wrong with the words of a refusal. @param quotes Whether they may contain any text of the input. */
function explain(
  result: Result<unknown, string | readonly string[]>,
  quotes = false,
): string | undefined {
  if (result.ok) return undefined;
  const reasons = typeof result.error === 'string' ? [result.error] : result.error;
  if (reasons.length === 0) return 'refused without a reason';
  const vague = reasons.find(
    (reason) => reason === '' || (!quotes && /\[object|(?<!not )NaN/.test(reason)),
  );
  return vague === undefined ? undefined : `says nothing: "${vague}"`;
}
