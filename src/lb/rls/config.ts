import { Channel, credentials } from '../../grpc-js';
import type { LbConfig } from '../../resources/extension-points';
import { durationToMs, msToDuration } from '../../util/duration';
import { errorMessage } from '../../util/errors';
import {
  isArray,
  isObject,
  parseObject,
  readBoolean,
  readDurationMs,
  readEntries,
  readInteger,
  readList,
  readObject,
  readRequiredString,
  readString,
  type JsonFields,
} from '../../util/json-fields';
import { err, ok, type Result } from '../../util/result';
import { isSame } from '../../util/same-value';
import { Violations } from '../../util/violations';
import type {
  GrpcKeyBuilder,
  NameMatcher,
  RouteLookupConfig,
} from '../../wire/generated/grpc/lookup/v1/rls_config';
import type { LbChildParser, ParseLbConfig } from '../lb-policy';
import { readKeyBuilders, type KeyBuilders } from './key-builders';

export const RLS = 'rls_experimental';

const DEFAULT_TIMEOUT_MS = 10_000;
/** Nothing is kept for longer, unless it is refreshed before. */
const MAX_AGE_MS = 300_000;
const MAX_CACHE_BYTES = 5 * 1024 * 1024;

/** A validated RouteLookupConfig. */
export interface RouteLookup {
  readonly keyBuilders: KeyBuilders;
  /** The target of the lookup service. */
  readonly lookupService: string;
  readonly timeoutMs: number;
  /** How long a response is used. */
  readonly maxAgeMs: number;
  /** After how long a response is refreshed by the next call. */
  readonly staleAgeMs: number;
  readonly cacheSizeBytes: number;
  /** Empty if there is none. */
  readonly defaultTarget: string;
}

/** Creates the configs of the children. */
export interface TargetConfigs {
  /** Returns the config of the child of a target, or why there is none. */
  of(target: string): Result<LbConfig, string>;
  /** Whether others create the same configs. */
  equals(other: unknown): boolean;
}

/** The config of `rls_experimental`. */
export class RlsConfig implements LbConfig {
  readonly policyName = RLS;

  /** @param channelServiceConfig That of the channel to the lookup service, as JSON; `undefined` for that of its resolver. */
  constructor(
    readonly lookup: RouteLookup,
    readonly targets: TargetConfigs,
    readonly channelServiceConfig?: string,
  ) {}
}

/** Validates the JSON config of `rls_experimental`. */
export const parseRlsConfig: ParseLbConfig<RlsConfig> = (json, violations, parser) =>
  parseObject(json, violations, (fields) => {
    const at = violations.at('routeLookupConfig');
    const message = parseObject(fields.get('routeLookupConfig'), at, (each) =>
      readLookup(each, at),
    );
    const lookup = message && validateLookup(message, at);
    const targets = readTargets(fields, violations, parser);
    const serviceConfig = fields.get('routeLookupChannelServiceConfig');
    const text = serviceConfig === undefined ? undefined : JSON.stringify(serviceConfig);
    if (text !== undefined)
      checkServiceConfig(text, violations.at('routeLookupChannelServiceConfig'));
    return lookup && targets && new RlsConfig(lookup, targets, text);
  });

/** Validates a RouteLookupConfig, whose fields have the names of the schema. @returns `undefined` after adding a violation. */
export function validateLookup(
  message: RouteLookupConfig,
  violations: Violations,
): RouteLookup | undefined {
  const before = violations.count;
  const keyBuilders = readKeyBuilders(message.grpcKeybuilders, violations.at('grpc_keybuilders'));
  const { lookupService, cacheSizeBytes, defaultTarget } = message;
  if (lookupService === '') violations.at('lookup_service').add('must not be empty');
  if (cacheSizeBytes <= 0n) violations.at('cache_size_bytes').add('must be greater than 0');
  // A duration of zero counts as absent.
  const msOf = (field: 'lookupServiceTimeout' | 'maxAge' | 'staleAge', name: string) =>
    (message[field] && durationToMs(message[field], violations.at(name))) || undefined;
  const maxAgeMs = msOf('maxAge', 'max_age');
  const staleAgeMs = msOf('staleAge', 'stale_age');
  const timeoutMs = msOf('lookupServiceTimeout', 'lookup_service_timeout') ?? DEFAULT_TIMEOUT_MS;
  if (staleAgeMs !== undefined && maxAgeMs === undefined)
    violations.at('stale_age').add('needs max_age');
  if (violations.count > before) return undefined;
  const usedMaxAgeMs =
    staleAgeMs === undefined ? Math.min(maxAgeMs ?? MAX_AGE_MS, MAX_AGE_MS) : (maxAgeMs ?? 0);
  return {
    keyBuilders,
    lookupService,
    timeoutMs,
    maxAgeMs: usedMaxAgeMs,
    staleAgeMs: Math.min(staleAgeMs ?? MAX_AGE_MS, MAX_AGE_MS, usedMaxAgeMs),
    cacheSizeBytes: cacheSizeBytes > MAX_CACHE_BYTES ? MAX_CACHE_BYTES : Number(cacheSizeBytes),
    defaultTarget,
  };
}

/** Reads the JSON form of a RouteLookupConfig. Fields that are not used are not looked at. */
function readLookup(fields: JsonFields, violations: Violations): RouteLookupConfig {
  const duration = (name: string) => {
    const ms = readDurationMs(fields, name, -1, violations);
    return ms < 0 ? undefined : msToDuration(ms);
  };
  const size = fields.get('cacheSizeBytes') ?? 0;
  const bounds = { min: 1, max: Number.MAX_SAFE_INTEGER };
  const at = violations.at('grpcKeybuilders');
  return {
    grpcKeybuilders: readList(fields, 'grpcKeybuilders', violations).flatMap(
      (each, i) => parseObject(each, at.index(i), (of) => readBuilder(of, at.index(i))) ?? [],
    ),
    lookupService: readString(fields, 'lookupService', violations) ?? '',
    lookupServiceTimeout: duration('lookupServiceTimeout'),
    maxAge: duration('maxAge'),
    staleAge: duration('staleAge'),
    cacheSizeBytes: BigInt(readInteger(size, bounds, violations.at('cacheSizeBytes')) ?? 1),
    defaultTarget: readString(fields, 'defaultTarget', violations) ?? '',
  };
}

function readBuilder(fields: JsonFields, violations: Violations): GrpcKeyBuilder {
  const objects = <T>(name: string, read: (of: JsonFields, at: Violations) => T): T[] =>
    readList(fields, name, violations).flatMap((each, i) => {
      const at = violations.at(name).index(i);
      return parseObject(each, at, (of) => read(of, at)) ?? [];
    });
  const text = (of: JsonFields, name: string, at: Violations) => readString(of, name, at) ?? '';
  const extra = readObject(fields.get('extraKeys') ?? {}, violations.at('extraKeys'));
  return {
    names: objects('names', (of, at) => ({
      service: text(of, 'service', at),
      method: text(of, 'method', at),
    })),
    headers: objects('headers', readMatcher),
    extraKeys: extra && {
      host: text(extra, 'host', violations),
      service: text(extra, 'service', violations),
      method: text(extra, 'method', violations),
    },
    constantKeys: new Map(
      readEntries(fields, 'constantKeys', violations, (json, at) =>
        typeof json === 'string' ? json : at.add('must be a string'),
      ),
    ),
  };
}

function readMatcher(fields: JsonFields, violations: Violations): NameMatcher {
  const at = violations.at('names');
  return {
    key: readString(fields, 'key', violations) ?? '',
    names: readList(fields, 'names', violations).flatMap((name, i) => {
      if (typeof name === 'string') return [name];
      at.index(i).add('must be a string');
      return [];
    }),
    requiredMatch: readBoolean(fields, 'requiredMatch', false, violations),
  };
}

/** Stands for a target while the config of a child is validated. */
const ANY_TARGET = 'target';

function readTargets(
  fields: JsonFields,
  violations: Violations,
  parser: LbChildParser,
): TargetConfigs | undefined {
  const field = readRequiredString(fields, 'childPolicyConfigTargetFieldName', violations);
  const targets = new JsonTargets(fields.get('childPolicy'), field ?? '', parser);
  const child = targets.parse(ANY_TARGET, violations.at('childPolicy'));
  return child === undefined || field === undefined ? undefined : targets;
}

/** Children whose config has the target in a field. */
class JsonTargets implements TargetConfigs {
  /** @param list A list with one `{ name: config }` per choice, of which the first supported one is used. */
  constructor(
    private readonly list: unknown,
    private readonly field: string,
    private readonly parser: LbChildParser,
  ) {}

  of(target: string): Result<LbConfig, string> {
    const violations = Violations.root();
    const config = this.parse(target, violations);
    return config === undefined ? err(violations.all.join('; ')) : ok(config);
  }

  equals(other: unknown): boolean {
    return (
      other instanceof JsonTargets && other.field === this.field && isSame(other.list, this.list)
    );
  }

  /** @returns `undefined` after adding a violation. */
  parse(target: string, violations: Violations): LbConfig | undefined {
    const withTarget = (config: unknown) =>
      isObject(config) ? { ...config, [this.field]: target } : config;
    const list = isArray(this.list)
      ? this.list.map((choice) =>
          isObject(choice)
            ? Object.fromEntries(Object.entries(choice).map(([name, of]) => [name, withTarget(of)]))
            : choice,
        )
      : this.list;
    return this.parser.parseList(list, violations);
  }
}

/** Adds a violation if grpc-js would refuse a service config, which it says only of a channel. */
function checkServiceConfig(text: string, violations: Violations): void {
  try {
    const options = { 'grpc.service_config': text, 'grpc.enable_channelz': 0 };
    new Channel('ipv4:127.0.0.1:1', credentials.createInsecure(), options).close();
  } catch (error) {
    violations.add(errorMessage(error));
  }
}
