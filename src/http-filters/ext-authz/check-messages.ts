import type { Metadata } from '../../grpc-js';
import { decodeMessage } from '../../resources/shared/any';
import type { HeaderMutation } from '../../resources/shared/header-mutation';
import { parseAnsweredMutations } from '../../resources/shared/header-mutation-parser';
import { err, ok, type Result } from '../../util/result';
import { StatusCode, statusOfHttp } from '../../util/status-code';
import { joinBounded, Violations } from '../../util/violations';
import {
  CheckRequest,
  CheckResponse,
} from '../../wire/generated/envoy/service/auth/v3/external_auth';
import type { AttributeContext } from '../../wire/generated/envoy/service/auth/v3/attribute_context';
import { matchNames, namesOf, type MatchedCall } from '../header-mutation/apply-mutations';
import type { ExtAuthzSettings } from './ext-authz-parser';

/** The ends of the connection of a call of a server. */
export type Peers = Pick<AttributeContext, 'source' | 'destination'>;

/** Encodes what the authorization server is told of a call (gRFC A92). */
export function encodeCheckRequest(
  headers: Metadata,
  call: MatchedCall & { readonly peers?: Peers },
  { allowedHeaders, disallowedHeaders }: ExtAuthzSettings,
  nowMs: number,
): Buffer {
  const shown = matchNames(call, (matches) =>
    namesOf(headers).filter(
      (name) =>
        !disallowedHeaders.some((matcher) => matches(matcher, name)) &&
        (allowedHeaders.length === 0 || allowedHeaders.some((matcher) => matches(matcher, name))),
    ),
  );
  const headerMap = shown.flatMap((key) =>
    headers.get(key).map((value) => ({ key, rawValue: toRaw(value) })),
  );
  const seconds = Math.floor(nowMs / 1000);
  const time = { seconds: BigInt(seconds), nanos: Math.round(nowMs - seconds * 1000) * 1_000_000 };
  const http = {
    method: 'POST',
    path: call.method,
    headerMap: { headers: headerMap },
    size: -1n,
    protocol: 'HTTP/2',
  };
  const request = CheckRequest.create({ attributes: { ...call.peers, request: { time, http } } });
  return Buffer.from(CheckRequest.encode(request).finish());
}

/** A binary value is shown as it is on the wire. */
function toRaw(value: string | Buffer): Uint8Array {
  return Buffer.from(typeof value === 'string' ? value : value.toString('base64'));
}

/** What an authorization server decides for a call. */
export type Decision =
  | {
      readonly kind: 'allowed';
      readonly request: readonly HeaderMutation[];
      readonly response: readonly HeaderMutation[];
    }
  | {
      readonly kind: 'denied';
      readonly code: number;
      readonly message: string;
      readonly trailers: readonly HeaderMutation[];
    };

/** Decodes the answer of an authorization server (gRFC A92). @returns the decision, or what is wrong with the answer. */
export function decodeCheckResponse(bytes: Buffer): Result<Decision, string> {
  const violations = Violations.root();
  const answer = decodeMessage(CheckResponse, bytes, violations);
  const decision = answer && decide(answer, violations);
  return decision === undefined || violations.count > 0
    ? err(joinBounded(violations.all))
    : ok(decision);
}

function decide({ status, httpResponse }: CheckResponse, violations: Violations): Decision {
  if (status === undefined || status.code === StatusCode.OK) {
    if (httpResponse?.$case !== 'okResponse') return { kind: 'allowed', request: [], response: [] };
    const { headers, headersToRemove, responseHeadersToAdd } = httpResponse.value;
    const at = violations.at('ok_response');
    return {
      kind: 'allowed',
      request: parseAnsweredMutations(headers, headersToRemove, at),
      response: parseAnsweredMutations(responseHeadersToAdd, [], at),
    };
  }
  const { message } = status;
  const code = StatusCode.PERMISSION_DENIED;
  if (httpResponse?.$case !== 'deniedResponse')
    return { kind: 'denied', code, message, trailers: [] };
  const { status: http, headers } = httpResponse.value;
  // A denial stays one, whatever is wrong with its headers: these are left out.
  const trailers = parseAnsweredMutations(headers, [], Violations.root());
  return { kind: 'denied', code: http?.code ? statusOfHttp(http.code) : code, message, trailers };
}
