import { findJsonError } from '../../bootstrap/json-syntax';
import {
  DiscoveryRequest,
  DiscoveryResponse,
} from '../../wire/generated/envoy/service/discovery/v3/discovery';
import { decodeToJson, encodeJson } from '../../wire/proto-json/encode-json';
import { describeJson } from '../../wire/proto-json/explain-json';
import { isJsonObject } from '../../wire/proto-json/json-object';
import { formatJsonProblem } from '../../wire/proto-json/json-problem';
import { JsonLimitError, parseBoundedJson, type JsonLimits } from '../../util/bounded-json';
import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/errors';
import { MAX_JSON_VALUES, MAX_RESOURCES, MAX_VERSION_LENGTH } from '../../util/limits';
import { err, ok, type Result } from '../../util/result';
import { TimeBudget } from '../../xds-client/budgets';
import { DEFAULT_TIME_PERCENT } from '../../xds-client/limits';
import { joinBounded } from '../../util/violations';

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

/** Bounds on the text of a response, whose bytes are limited before. Ten values are one endpoint. */
const RESPONSE_LIMITS: JsonLimits = { maxLength: Infinity, maxValues: MAX_JSON_VALUES };

/** Characters of a text in which a syntax error is located: finding it takes as long as parsing. */
const MAX_LOCATED_LENGTH = 2 ** 20;

/**
 * Decodes a response. Excessive content is found before any of it is decoded. Fields and types that the schema of this
 * package does not have are skipped, as they are in binary responses.
 */
export function readResponse(text: string): Result<DiscoveryResponse, string> {
  let json: unknown;
  try {
    json = parseBoundedJson(text, RESPONSE_LIMITS);
  } catch (error) {
    return err(error instanceof JsonLimitError ? error.message : describeSyntaxError(text, error));
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

function describeSyntaxError(text: string, error: unknown): string {
  if (text.length > MAX_LOCATED_LENGTH) return 'not JSON';
  return `not JSON: ${findJsonError(text) ?? errorMessage(error)}`;
}

/** Describes a part of a response that exceeds its limit; `undefined` if there is none. */
function findExcess(json: Readonly<Record<string, unknown>>): string | undefined {
  const { resources } = json;
  if (Array.isArray(resources) && resources.length > MAX_RESOURCES) {
    return `${resources.length} resources, more than ${MAX_RESOURCES}`;
  }
  for (const name of ['version_info', 'versionInfo', 'nonce']) {
    const value = json[name];
    if (typeof value === 'string' && value.length > MAX_VERSION_LENGTH) {
      return `${name}: ${value.length} characters, more than ${MAX_VERSION_LENGTH}`;
    }
  }
  return undefined;
}

/**
 * Reads responses, for all servers of a process: altogether for a share of the time, beyond which further responses are
 * requested later.
 */
export class ResponseReader {
  private readonly budget: TimeBudget;

  constructor(private readonly clock: Clock) {
    this.budget = new TimeBudget(DEFAULT_TIME_PERCENT / 100, clock.monotonicMs());
  }

  /** Reads the body of a response. An exception, which is a bug, is the failure of this response only. */
  read(body: string): Result<DiscoveryResponse, string> {
    const startMs = this.clock.monotonicMs();
    try {
      return readResponse(body);
    } catch (error) {
      return err(`unexpected error: ${errorMessage(error)}`);
    } finally {
      const endMs = this.clock.monotonicMs();
      this.budget.spend(endMs - startMs, endMs);
    }
  }

  /** Milliseconds until the next response may be requested; zero while there is time left. */
  waitMs(): number {
    return this.budget.waitMs(this.clock.monotonicMs());
  }
}
