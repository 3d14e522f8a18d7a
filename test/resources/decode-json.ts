import { createFaultFilter } from '../../src/http-filters/fault/fault-filter';
import { HttpFilterRegistry } from '../../src/http-filters/registry';
import { routerFilter } from '../../src/http-filters/router/router-filter';
import { encodeJson } from '../../src/wire/proto-json/encode-json';
import type { ServerConfig } from '../../src/bootstrap/bootstrap';
import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { Re2Compiler } from '../../src/resources/matching/re2-compiler';
import type {
  ExtensionPoints,
  LbConfig,
  LbConfigParser,
  TypedBytes,
} from '../../src/resources/extension-points';
import { createResourceTypes } from '../../src/resources/resource-types';
import { systemClock } from '../../src/util/clock';
import { systemRandom } from '../../src/util/random';
import type { Violations } from '../../src/util/violations';
import {
  decodeWhole,
  isUnfinished,
  type Decoded,
  type DecodeContext,
  type DecodedValue,
  type PreviousVersion,
  type ResourceType,
} from '../../src/xds-client/resource-type';
import type { Json } from '../support/xds-json';

/** A load-balancing config that is what was asked for. */
export interface EchoedLbConfig extends LbConfig {
  readonly json?: unknown;
  readonly proto?: TypedBytes;
  readonly depth?: number;
}

/** Takes every JSON config as it is, and every message except one called `Unknown`. */
const echoingLbConfigs: LbConfigParser = {
  fromJson: (json): EchoedLbConfig => ({ policyName: 'json', json }),
  fromProto(proto, depth, violations: Violations): EchoedLbConfig | 'unsupported' | undefined {
    if (proto.typeUrl.endsWith('.WrrLocality')) return 'unsupported';
    if (proto.value.length > 0) {
      violations.add('not to the taste of the policy');
      return undefined;
    }
    return { policyName: 'proto', proto, depth };
  },
};

/** All extensions there are; the load-balancing configs are echoed. */
export const extensions: ExtensionPoints = {
  lbConfigs: echoingLbConfigs,
  httpFilters: new HttpFilterRegistry([
    createFaultFilter({ clock: systemClock, random: systemRandom }),
    routerFilter,
  ]),
  regexes: new Re2Compiler(DEFAULT_LIMITS),
  authorityRewrite: true,
  literalAuthorityRewrite: true,
};

/** The resource types with {@link extensions}. */
export const types = createResourceTypes(extensions);

/** A server with these features. */
export function serverWith(...features: readonly string[]): ServerConfig {
  return {
    serverUri: 'xds.test:443',
    channelCreds: { type: 'insecure', config: undefined },
    callCreds: [],
    features: new Set(features),
    key: 'xds.test',
  };
}

/** The certificate provider instances of the bootstrap. */
const certificateProviders: ReadonlySet<string> = new Set(['default', 'other']);

/** What a decoder knows besides the bytes. */
export interface DecodeOptions<T> {
  readonly server?: ServerConfig;
  readonly previous?: PreviousVersion<T>;
}

/** The bytes of a resource written as proto3-JSON. */
export function encode(type: ResourceType<unknown>, json: Json): Uint8Array {
  return encodeMessage(type.typeUrl.slice(type.typeUrl.indexOf('/') + 1), json);
}

/** The bytes of any message written as proto3-JSON. */
export function encodeMessage(messageName: string, json: Json): Uint8Array {
  const encoded = encodeJson(messageName, JSON.parse(JSON.stringify(json)));
  if (!encoded.ok) throw new Error(JSON.stringify(encoded.error));
  return encoded.value;
}

/** Decodes bytes as the client would. */
export function decodeBytes<T>(
  type: ResourceType<T>,
  bytes: Uint8Array,
  { server = serverWith(), previous }: DecodeOptions<T> = {},
): Decoded<T> {
  return decodeWhole(type, bytes, { server, certificateProviders, previous: () => previous });
}

/** Decodes a resource part by part. @returns the number of breaks, too. */
export function decodeInParts<T>(
  type: ResourceType<T>,
  bytes: Uint8Array,
  context: DecodeContext<T>,
): { readonly decoded: Decoded<T>; readonly count: number } {
  const decoding = type.decode(bytes, context);
  if (!isUnfinished(decoding)) return { decoded: decoding, count: 0 };
  for (let count = 1; ; count++) {
    const decoded = decoding.next();
    if (decoded !== undefined) return { decoded, count };
  }
}

/** A resource that must be valid: its value, its record and how it changed. */
export function versionOf<T>(
  type: ResourceType<T>,
  json: Json,
  options?: DecodeOptions<T>,
): DecodedValue<T> {
  const { result } = decodeBytes(type, encode(type, json), options);
  if (!result.ok) throw new Error(result.error.join('\n'));
  return result;
}

/** The value of a resource that must be valid. */
export function valueOf<T>(type: ResourceType<T>, json: Json, options?: DecodeOptions<T>): T {
  return versionOf(type, json, options).value;
}

/** Everything wrong with a resource that must not be valid. */
export function violationsOf<T>(
  type: ResourceType<T>,
  json: Json,
  options?: DecodeOptions<T>,
): readonly string[] {
  const { result } = decodeBytes(type, encode(type, json), options);
  if (result.ok) throw new Error('the resource is valid');
  return result.error;
}
