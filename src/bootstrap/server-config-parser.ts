import { MAX_JSON_DEPTH } from '../util/limits';
import { RELAY_FEATURE } from '../util/relay-names';
import { quoteText } from '../util/text';
import {
  readArray,
  readBoolean,
  readObject,
  readPositiveDurationMs,
  readRequiredString,
  isArray,
  isObject,
  type JsonFields,
  type JsonValue,
} from '../util/json-fields';
import type { Violations } from '../util/violations';
import type { CredentialConfig, FetchConfig, ServerConfig, ServiceCredentials } from './bootstrap';
import { checkServerUri, serverProtocol, type ServerProtocol } from '../util/server-uri';

const DEFAULT_REFRESH_DELAY_MS = 10_000;
const DEFAULT_REQUEST_TIMEOUT_MS = 10_000;

/** The supported types of channel or call credentials. A plain set of their names satisfies it. */
export interface CredentialSupport {
  has(type: string): boolean;
  keys(): Iterable<string>;
  /** Validates the configuration of a supported type. */
  check?(credential: CredentialConfig, violations: Violations): void;
}

/** The supported credentials of a bootstrap. */
export interface CredentialsSupport {
  readonly channelCreds: CredentialSupport;
  readonly callCreds: CredentialSupport;
}

interface ParsedCredential {
  readonly type: string;
  readonly config: JsonObject | undefined;
}

/** Parses a list of management servers (gRFC A27). A duplicate is ignored: it cannot be its own fallback. */
export function parseServers(
  json: unknown,
  support: CredentialsSupport,
  violations: Violations,
): readonly ServerConfig[] {
  const list = readArray(json, violations) ?? [];
  const servers = new Map<string, ServerConfig>();
  for (const [position, element] of list.entries()) {
    const server = parseServer(element, support, violations.index(position));
    if (server !== undefined && !servers.has(server.key)) servers.set(server.key, server);
  }
  return [...servers.values()];
}

/** Parses one server; `undefined` after adding a violation. */
export function parseServer(
  json: unknown,
  support: CredentialsSupport,
  violations: Violations,
): ServerConfig | undefined {
  const fields = readObject(json, violations);
  if (fields === undefined) return undefined;
  const { serverUri, protocol } = readServerUri(fields, violations);
  const channelCreds = isWithoutCreds(fields, protocol)
    ? { type: protocol === 'https' ? 'tls' : 'insecure', config: undefined }
    : parseChannelCreds(fields, support.channelCreds, violations);
  checkSecurity(protocol, channelCreds?.type, violations.at('channel_creds'));
  const callCreds = parseCallCreds(fields, support.callCreds, violations);
  const features = parseFeatures(fields, violations);
  const fetch = protocol === 'grpc' ? undefined : parseFetch(fields, violations);
  if (serverUri === undefined || channelCreds === undefined) return undefined;
  const key = stableJson([
    serverUri,
    toJson(channelCreds),
    callCreds.map(toJson),
    [...features].sort(),
    ...(fetch === undefined ? [] : [{ ...fetch }]),
  ]);
  return { serverUri, channelCreds, callCreds, features, fetch, key };
}

/** Parses the credentials of a service (gRFC A102); `undefined` after adding a violation. */
export function parseServiceCredentials(
  fields: JsonFields,
  support: CredentialsSupport,
  violations: Violations,
): ServiceCredentials | undefined {
  const channelCreds = parseChannelCreds(fields, support.channelCreds, violations);
  const callCreds = parseCallCreds(fields, support.callCreds, violations);
  return channelCreds && { channelCreds, callCreds };
}

function readServerUri(
  fields: JsonFields,
  violations: Violations,
): { readonly serverUri: string | undefined; readonly protocol: ServerProtocol } {
  const serverUri = readRequiredString(fields, 'server_uri', violations);
  if (serverUri === undefined) return { serverUri, protocol: 'grpc' };
  const checked = checkServerUri(serverUri);
  if (checked.ok) return { serverUri, protocol: checked.value };
  violations.at('server_uri').add(checked.error);
  return { serverUri: undefined, protocol: serverProtocol(serverUri) };
}

/** Whether credentials follow from the scheme: files need none. */
function isWithoutCreds(fields: JsonFields, protocol: ServerProtocol): boolean {
  return protocol !== 'grpc' && !fields.has('channel_creds');
}

/** Rejects credentials that contradict the scheme. */
function checkSecurity(
  protocol: ServerProtocol,
  type: string | undefined,
  violations: Violations,
): void {
  if (type === undefined) return;
  if (protocol === 'http' && type !== 'insecure') {
    violations.add(`type ${quoteText(type)} needs an https: URI`);
  }
  if (protocol === 'https' && type === 'insecure') {
    violations.add('type "insecure" needs an http: URI');
  }
}

function parseFetch(fields: JsonFields, violations: Violations): FetchConfig {
  return {
    refreshDelayMs: readPositiveDurationMs(
      fields,
      'refresh_delay',
      DEFAULT_REFRESH_DELAY_MS,
      violations,
    ),
    requestTimeoutMs: readPositiveDurationMs(
      fields,
      'request_timeout',
      DEFAULT_REQUEST_TIMEOUT_MS,
      violations,
    ),
    ignoreUnknownFields: readBoolean(fields, 'ignore_unknown_fields', false, violations),
  };
}

/** Parses the first credential of a supported type (gRFC A27). Those after it are ignored. */
function parseChannelCreds(
  fields: JsonFields,
  support: CredentialSupport,
  violations: Violations,
): ParsedCredential | undefined {
  const place = violations.at('channel_creds');
  if (!fields.has('channel_creds')) return place.add('field not present');
  const before = violations.count;
  const { supported, offered } = parseCredentials(fields.get('channel_creds'), support, place, 1);
  const first = supported[0];
  if (first === undefined && violations.count === before) {
    const types = offered.map((type) => quoteText(type)).join(', ');
    const known = [...support.keys()].map((type) => quoteText(type)).join(', ');
    place.add(
      offered.length === 0
        ? 'must not be empty'
        : `none of the types ${types} is supported; supported are ${known}`,
    );
  }
  return first;
}

/** Parses all credentials of supported types (gRFC A97). */
function parseCallCreds(
  fields: JsonFields,
  support: CredentialSupport,
  violations: Violations,
): readonly ParsedCredential[] {
  if (!fields.has('call_creds')) return [];
  return parseCredentials(fields.get('call_creds'), support, violations.at('call_creds')).supported;
}

function parseCredentials(
  json: unknown,
  support: CredentialSupport,
  violations: Violations,
  maxSupported = Infinity,
): { readonly supported: readonly ParsedCredential[]; readonly offered: readonly string[] } {
  const supported: ParsedCredential[] = [];
  const offered: string[] = [];
  const list = readArray(json, violations) ?? [];
  for (const [position, element] of list.entries()) {
    if (supported.length >= maxSupported) break;
    const place = violations.index(position);
    const fields = readObject(element, place);
    if (fields === undefined) continue;
    const type = readRequiredString(fields, 'type', place);
    if (type === undefined) continue;
    offered.push(type);
    // The configuration of an unknown type is not validated.
    if (!support.has(type)) continue;
    const credential = { type, config: readOpaqueObject(fields, 'config', place) };
    support.check?.(credential, place.at('config'));
    supported.push(credential);
  }
  return { supported, offered };
}

/** The supported server features. */
export const KNOWN_FEATURES: ReadonlySet<string> = new Set([
  'fail_on_data_errors',
  'grpc_xds_delta',
  'grpc_xds_delta_auto',
  RELAY_FEATURE,
  'grpc_xds_separate_streams',
  'ignore_resource_deletion',
  'resource_timer_is_transient_error',
  'trusted_xds_server',
]);

/** Parses the supported features. Others are ignored (gRFC A30) and are not part of the server's key (gRFC A47). */
function parseFeatures(fields: JsonFields, violations: Violations): ReadonlySet<string> {
  if (!fields.has('server_features')) return new Set();
  const list = readArray(fields.get('server_features'), violations.at('server_features')) ?? [];
  return new Set(list.filter(isKnownFeature));
}

function isKnownFeature(feature: unknown): feature is string {
  return typeof feature === 'string' && KNOWN_FEATURES.has(feature);
}

function toJson({ type, config }: ParsedCredential): JsonObject {
  return config === undefined ? { type } : { type, config };
}

/** A JSON object that is passed on unchanged. */
export type JsonObject = Readonly<Record<string, JsonValue>>;

/** Reads an optional object without interpreting it; `undefined` if it is absent, and after adding a violation. */
export function readOpaqueObject(
  fields: JsonFields,
  name: string,
  violations: Violations,
): JsonObject | undefined {
  const value = fields.get(name);
  if (value === undefined) return undefined;
  if (!isObject(value)) return violations.at(name).add('must be an object');
  if (isJsonObject(value)) return value;
  return violations.at(name).add(`must be JSON of at most ${MAX_JSON_DEPTH} levels`);
}

function isJsonObject(json: object): json is JsonObject {
  return isJson(json, MAX_JSON_DEPTH);
}

function isJson(json: unknown, levels: number): boolean {
  if (levels === 0) return false;
  if (isArray(json)) return json.every((element) => isJson(element, levels - 1));
  if (isObject(json)) return Object.values(json).every((member) => isJson(member, levels - 1));
  return json === null || ['string', 'number', 'boolean'].includes(typeof json);
}

/** Formats a value as JSON with the members of objects in a fixed order. */
function stableJson(json: JsonValue): string {
  if (json === null || typeof json !== 'object') return JSON.stringify(json);
  if (isList(json)) return `[${json.map(stableJson).join(',')}]`;
  const members = Object.entries(json).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, value]) => `${JSON.stringify(key)}:${stableJson(value)}`).join(',')}}`;
}

// Array.isArray does not narrow readonly arrays.
function isList(json: object): json is readonly JsonValue[] {
  return Array.isArray(json);
}
