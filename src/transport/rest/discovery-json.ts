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
import { joinBounded } from '../../xds-client/xds-errors';

/** Where each type is asked for, below the URI of the server. */
const paths: ReadonlyMap<string, string> = new Map([
  ['type.googleapis.com/envoy.config.listener.v3.Listener', 'listeners'],
  ['type.googleapis.com/envoy.config.route.v3.RouteConfiguration', 'routes'],
  ['type.googleapis.com/envoy.config.cluster.v3.Cluster', 'clusters'],
  ['type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment', 'endpoints'],
]);

/** The path of a type, such as `/v3/discovery:listeners`; `undefined` if it cannot be had this way. */
export function discoveryPath(typeUrl: string): string | undefined {
  const noun = paths.get(typeUrl);
  return noun === undefined ? undefined : `/v3/discovery:${noun}`;
}

/** Writes a request. */
export function writeRequest(request: DiscoveryRequest): string {
  const bytes = DiscoveryRequest.encode(request).finish();
  return JSON.stringify(decodeToJson('envoy.service.discovery.v3.DiscoveryRequest', bytes));
}

/**
 * Reads a response. Fields and types that the schema of this package does not have are skipped, as they are when
 * they come as bytes.
 */
export function readResponse(text: string): Result<DiscoveryResponse, string> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return err(`not JSON: ${findJsonError(text) ?? errorMessage(error)}`);
  }
  if (!isJsonObject(json)) return err(`expected an object, got ${describeJson(json)}`);
  const bytes = encodeJson('envoy.service.discovery.v3.DiscoveryResponse', json, {
    ignoreUnknownFields: true,
    keepUnknownTypes: true,
  });
  if (!bytes.ok) return err(joinBounded(bytes.error.map(formatJsonProblem)));
  return ok(DiscoveryResponse.decode(bytes.value));
}
