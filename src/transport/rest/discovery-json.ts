import { findJsonError } from '../../bootstrap/json-syntax';
import {
  DiscoveryRequest,
  DiscoveryResponse,
} from '../../generated/envoy/service/discovery/v3/discovery';
import { decodeToJson, encodeJson } from '../../proto-json/encode-json';
import { describeJson, isJsonObject } from '../../proto-json/explain-json';
import { formatJsonProblem } from '../../proto-json/json-problem';
import { errorMessage } from '../../util/error-message';
import { err, ok, type Result } from '../../util/result';
import { MAX_RESOURCES_PER_RESPONSE } from '../../xds-client/limits';
import { joinBounded } from '../../xds-client/xds-errors';

/** The path of each type, below the URI of the server. */
const paths: ReadonlyMap<string, string> = new Map([
  ['type.googleapis.com/envoy.config.listener.v3.Listener', 'listeners'],
  ['type.googleapis.com/envoy.config.route.v3.RouteConfiguration', 'routes'],
  ['type.googleapis.com/envoy.config.cluster.v3.Cluster', 'clusters'],
  ['type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment', 'endpoints'],
]);

/** Returns the path of a type, such as `/v3/discovery:listeners`; `undefined` if it is not served over REST. */
export function discoveryPath(typeUrl: string): string | undefined {
  const noun = paths.get(typeUrl);
  return noun === undefined ? undefined : `/v3/discovery:${noun}`;
}

/** Encodes a request. */
export function writeRequest(request: DiscoveryRequest): string {
  const bytes = DiscoveryRequest.encode(request).finish();
  return JSON.stringify(decodeToJson('envoy.service.discovery.v3.DiscoveryRequest', bytes));
}

// Decoding JSON takes a microsecond or two for each value, so that 64 MiB of `{}` would block for a minute. Ten
// values are one endpoint.
const MAX_VALUES = 2_000_000;

/** Characters of a version or a nonce. They are sent back with every request. */
const MAX_VERSION_LENGTH = 8192;

/**
 * Decodes a response. Excessive content is found before any of it is decoded. Fields and types that the schema of this
 * package does not have are skipped, as they are in binary responses.
 */
export function readResponse(text: string): Result<DiscoveryResponse, string> {
  if (hasMoreValuesThan(MAX_VALUES, text)) return err(`more than ${MAX_VALUES} values`);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return err(`not JSON: ${findJsonError(text) ?? errorMessage(error)}`);
  }
  if (!isJsonObject(json)) return err(`expected an object, got ${describeJson(json)}`);
  const excess = findExcess(json);
  if (excess !== undefined) return err(excess);
  const bytes = encodeJson('envoy.service.discovery.v3.DiscoveryResponse', json, {
    ignoreUnknownFields: true,
    keepUnknownTypes: true,
  });
  if (!bytes.ok) return err(joinBounded(bytes.error.map(formatJsonProblem)));
  return ok(DiscoveryResponse.decode(bytes.value));
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const LIST_START = 0x5b;
const OBJECT_START = 0x7b;

/** Returns whether a JSON text has more objects, lists, elements and members than the limit. Stops at the limit. */
function hasMoreValuesThan(limit: number, text: string): boolean {
  let count = 0;
  let isInString = false;
  for (let at = 0; at < text.length && count <= limit; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) isInString = !isInString;
    else if (isInString) at += code === BACKSLASH ? 1 : 0;
    else if (code === COMMA || code === OBJECT_START || code === LIST_START) count++;
  }
  return count > limit;
}

/** Describes a part of a response that exceeds its limit; `undefined` if there is none. */
function findExcess(json: Readonly<Record<string, unknown>>): string | undefined {
  const { resources } = json;
  if (Array.isArray(resources) && resources.length > MAX_RESOURCES_PER_RESPONSE) {
    return `${resources.length} resources, more than ${MAX_RESOURCES_PER_RESPONSE}`;
  }
  for (const name of ['version_info', 'versionInfo', 'nonce']) {
    const value = json[name];
    if (typeof value === 'string' && value.length > MAX_VERSION_LENGTH) {
      return `${name}: ${value.length} characters, more than ${MAX_VERSION_LENGTH}`;
    }
  }
  return undefined;
}
