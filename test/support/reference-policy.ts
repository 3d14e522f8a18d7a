import { judge, type ReferenceRequest, type RuleJson } from './reference-authorization';

/**
 * Judges a request by the JSON of an authorization policy (gRFC A43): it is translated to two RBAC messages, as the gRFC says, which
 * {@link judge} then reads. It shares no code with src/http-filters/rbac, and looks only at what a valid policy may have.
 *
 * @returns `'rejected'` if the policy is not valid in a way that the translation cannot overlook.
 */
export function judgePolicy(
  policy: unknown,
  request: ReferenceRequest,
): 'allow' | 'deny' | 'rejected' {
  if (!isRecord(policy)) return 'rejected';
  // As in the JSON of messages, a field that is null is not set.
  const [deny, allow] = [policy['deny_rules'] ?? [], policy['allow_rules'] ?? []];
  if (!isListOfRecords(deny) || !isListOfRecords(allow)) return 'rejected';
  if (allow.length === 0) return 'rejected';
  const denied = judge(translate('DENY', deny), request);
  const allowed = judge(translate('ALLOW', allow), request);
  if (denied === 'rejected' || allowed === 'rejected') return 'rejected';
  return denied === 'deny' ? 'deny' : allowed;
}

function translate(action: string, rules: readonly RuleJson[]): RuleJson {
  const policies = rules.map((rule, i): readonly [string, RuleJson] => {
    const source = isRecord(rule['source']) ? rule['source'] : {};
    const { paths, headers } = isRecord(rule['request']) ? rule['request'] : {};
    const pathRules = list(paths).map((path) => ({ url_path: { path: pattern(path) } }));
    const headerRules = list(headers).map((header) => {
      const { key, values } = isRecord(header) ? header : {};
      const rulesOfValues = list(values).map((value) => headerRule(key, value));
      return { or_rules: { rules: rulesOfValues } };
    });
    const all = [
      ...(pathRules.length > 0 ? [{ or_rules: { rules: pathRules } }] : []),
      ...headerRules,
    ];
    const principals = list(source['principals']).map((name) => ({
      authenticated: { principal_name: pattern(name) },
    }));
    const policy = {
      permissions: [all.length === 0 ? { any: true } : { and_rules: { rules: all } }],
      principals: principals.length === 0 ? [{ any: true }] : principals,
    };
    return [`p${i}`, policy];
  });
  return { action, policies: Object.fromEntries(policies) };
}

const FORBIDDEN =
  /^(:.*|grpc-.*|host|connection|keep-alive|proxy-authenticate|proxy-authorization|te|trailer|transfer-encoding|upgrade)$/;

function headerRule(key: unknown, value: unknown): RuleJson {
  const name = String(key).toLowerCase();
  // One without a name is rejected.
  return { header: { name: FORBIDDEN.test(name) ? '' : name, string_match: pattern(value) } };
}

/** A star is at the end or at the beginning; one alone is any text that is not empty. */
function pattern(text: unknown): RuleJson {
  if (typeof text !== 'string') return {};
  if (text === '*') return { safe_regex: { regex: '.+' } };
  if (/\*$/.test(text)) return { prefix: text.replace(/\*$/, '') };
  if (/^\*/.test(text)) return { suffix: text.replace(/^\*/, '') };
  return { exact: text };
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isRecord(value: unknown): value is RuleJson {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isListOfRecords(value: unknown): value is readonly RuleJson[] {
  return Array.isArray(value) && value.every(isRecord);
}
