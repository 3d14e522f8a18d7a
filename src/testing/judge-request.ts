import { inspect } from 'node:util';
import { AuditLoggerRegistry, processAuditLoggers } from '../authorization/audit-logger';
import { AuthorizationEngine } from '../authorization/authorization-engine';
import { parseAuthorizationPolicy } from '../authorization/authorization-policy';
import { RBAC_FILTER } from '../http-filters/rbac/rbac-parser';
import { createProcessParts, readResources, type GivenResource } from '../runtime/explain';
import type { ClientParts } from '../runtime/built-in-parts';
import { explainFiltered, UNEXPLAINED } from '../server/explain/explain-request';
import {
  addressOf,
  clientOf,
  DEFAULT_ADDRESS,
  explainAmong,
  requestAt,
  type DescribedRequest,
} from '../server/explain/given-servers';
import {
  formatRequestExplanation,
  type RequestExplanation,
} from '../server/explain/request-explanation';
import { explainFilters, type NamedFilter } from '../http-filters/server-filter-chain';
import { parseUnambiguousJson } from '../util/bounded-json';
import { errorMessage } from '../util/errors';
import { MAX_INPUT_BYTES, MAX_JSON_VALUES } from '../util/limits';
import { silentLogger } from '../util/logger';
import { readRegularText } from '../util/read-regular-file';
import { joinLines } from '../util/text';
import { Violations } from '../util/violations';
import { encodeJson } from '../wire/proto-json/encode-json';
import { describeJson } from '../wire/proto-json/explain-json';
import { isJsonObject } from '../wire/proto-json/json-object';
import { formatJsonProblem } from '../wire/proto-json/json-problem';
import type { AuthorizationResult, RequestToAuthorize } from './authorization';
import { XdsError, type XdsErrorCode } from '../util/xds-error';

/** What authorizes a request. */
type Subject =
  | { readonly kind: 'filters'; readonly filters: readonly NamedFilter[] }
  | { readonly kind: 'servers'; readonly resources: readonly GivenResource[] };

/** Implements `authorize`. @throws XdsError if the policy cannot be used. */
export function judgeRequest(
  policy: object | string,
  request: RequestToAuthorize,
): AuthorizationResult {
  const parts = createProcessParts();
  const subject = readSubject(policy, parts);
  const explanation =
    subject.kind === 'filters'
      ? judgeByFilters(subject.filters, request)
      : judgeByServer(subject.resources, parts, request);
  const value = () => formatRequestExplanation(explanation);
  const result = { ...explanation, allowed: explanation.outcome === 'allowed' };
  return Object.defineProperties(result, { toString: { value }, [inspect.custom]: { value } });
}

function judgeByFilters(
  filters: readonly NamedFilter[],
  request: RequestToAuthorize,
): RequestExplanation {
  const described = describeRequest(request);
  const address = addressOf(request.address) ?? DEFAULT_ADDRESS;
  const client = clientOf(request);
  const { tls = client !== undefined } = request;
  if (!tls && client !== undefined) {
    throw fail(
      'XDS_OPTION_INVALID',
      'the client of a connection without TLS has no names: leave out from, dnsNames and subject',
    );
  }
  const judged = explainFilters(filters, {
    ...requestAt(address, described),
    tls: tls ? { peer: client } : undefined,
  });
  return { ...UNEXPLAINED, ...explainFiltered(judged, judged.at(-1)?.refusal) };
}

function judgeByServer(
  resources: readonly GivenResource[],
  parts: ClientParts,
  request: RequestToAuthorize,
): RequestExplanation {
  if (request.tls !== undefined) {
    throw fail(
      'XDS_OPTION_INVALID',
      'tls is for a policy or filter alone: the Listener says whether a connection is TLS',
    );
  }
  const explained = explainAmong(resources, parts, describeRequest(request));
  if (!explained.ok) throw fail('XDS_OPTION_INVALID', explained.error);
  return explained.value;
}

function describeRequest({ headers = {}, ...request }: RequestToAuthorize): DescribedRequest {
  return { ...request, headers: Object.entries(headers) };
}

function readSubject(policy: object | string, parts: ClientParts): Subject {
  const ofServers = (resources: readonly GivenResource[]): Subject => ({
    kind: 'servers',
    resources,
  });
  if (typeof policy !== 'string') {
    if (isSnapshot(policy)) return ofServers([...resourcesOf(policy)]);
    return readFilters(policy, parts) ?? ofServers(readResources(toResourceFile(policy)));
  }
  if (!policy.endsWith('.json')) return ofServers(readResources(policy));
  const json = readJson(policy);
  const filters = readFilters(json, parts);
  if (filters !== undefined) return filters;
  const file = toResourceFile(json);
  // With the place of a mistake in the file, unless that is a Listener alone.
  return ofServers(readResources(file === json ? policy : file));
}

function readJson(path: string): object {
  const text = readRegularText(path, { maxBytes: MAX_INPUT_BYTES });
  if (!text.ok) throw fail('XDS_FILE_UNREADABLE', `${path} cannot be read: ${text.error}`);
  const json = parseJson(path, text.value);
  if (typeof json === 'object' && json !== null) return json;
  throw fail('XDS_POLICY_INVALID', `${path}: expected an object, got ${describeJson(json)}`);
}

function parseJson(path: string, text: string): unknown {
  try {
    return parseUnambiguousJson(text, { maxLength: MAX_INPUT_BYTES, maxValues: MAX_JSON_VALUES });
  } catch (error) {
    throw fail('XDS_POLICY_INVALID', `${path}: ${errorMessage(error)}`);
  }
}

/** Returns the filters of a policy or of the config of an RBAC filter; `undefined` for what has neither form. */
function readFilters(json: object, parts: ClientParts): Subject | undefined {
  if ('allow_rules' in json || 'deny_rules' in json) {
    return { kind: 'filters', filters: readPolicy(json, parts) };
  }
  const type: unknown = '@type' in json ? json['@type'] : undefined;
  const isRbac = type === `type.googleapis.com/${RBAC_FILTER}`;
  if (!isRbac && (type !== undefined || !('rules' in json))) return undefined;
  return { kind: 'filters', filters: readRbac(json, parts) };
}

function readPolicy(json: object, { meter }: ClientParts): readonly NamedFilter[] {
  const violations = Violations.root();
  const registry = new AuditLoggerRegistry(processAuditLoggers);
  const policy = parseAuthorizationPolicy(json, registry, violations);
  if (policy === undefined)
    throw fail('XDS_POLICY_INVALID', `the policy cannot be used: ${violations.all.join('; ')}`);
  const { name, chain } = policy;
  return chain.map((rules) => ({
    name,
    filter: new AuthorizationEngine({ rules, name, meter, logger: silentLogger }),
  }));
}

/** The name under which an RBAC filter alone is explained. */
const RBAC_NAME = 'rbac';

function readRbac(json: object, { httpFilters }: ClientParts): readonly NamedFilter[] {
  if (!isJsonObject(json)) throw fail('XDS_POLICY_INVALID', 'an RBAC filter must be an object');
  const content = { ...json };
  delete content['@type'];
  const encoded = encodeJson(RBAC_FILTER, content);
  if (!encoded.ok)
    throw fail('XDS_POLICY_INVALID', joinLines(encoded.error.map(formatJsonProblem)));
  const violations = Violations.root();
  const typed = { typeUrl: `type.googleapis.com/${RBAC_FILTER}`, value: encoded.value };
  const config = httpFilters.parseConfig(typed, violations);
  if (config === undefined) {
    throw fail(
      'XDS_POLICY_INVALID',
      `a server rejects the RBAC filter (NACK): ${violations.all.join('; ')}`,
    );
  }
  const filter = httpFilters.createServerFilter(config, undefined, RBAC_NAME);
  return filter === undefined ? [] : [{ name: RBAC_NAME, filter }];
}

/** Returns a file of resources for a Listener alone, or for a list of resources; others are files already. */
function toResourceFile(json: object): object {
  if (Array.isArray(json)) return { resources: json };
  if ('@type' in json) return { resources: [json] };
  const isListener = ['address', 'filter_chains', 'filterChains', 'default_filter_chain'].some(
    (field) => field in json,
  );
  return isListener ? { listeners: [json] } : json;
}

/** The part of a `Snapshot` of the control plane that is read: this package's client does not know that class. */
interface SnapshotLike {
  kinds(): Iterable<{ readonly typeUrl: string }>;
  set(kind: unknown): {
    readonly byName: ReadonlyMap<string, Pick<GivenResource, 'name' | 'value'>>;
  };
}

function isSnapshot(value: object): value is SnapshotLike {
  return ['kinds', 'set'].every((name) => typeof Reflect.get(value, name) === 'function');
}

function* resourcesOf(snapshot: SnapshotLike): Iterable<GivenResource> {
  for (const kind of snapshot.kinds()) {
    const { typeUrl } = kind;
    for (const { name, value } of snapshot.set(kind).byName.values())
      yield { typeUrl, name, value };
  }
}

function fail(code: XdsErrorCode, problem: string): XdsError {
  return new XdsError(code, `authorize(): ${problem}`);
}
