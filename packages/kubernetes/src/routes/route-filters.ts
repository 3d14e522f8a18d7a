import { valueAt } from '../../../../src/util/value-at';
import { quoteText } from '../../../../src/util/text';
import type { NamedFields } from '../../../../src/util/json-fields';
import type { Violations } from '../../../../src/util/violations';
import { readItems } from '../read-values';
import type { RouteFindings } from './route-findings';

const MAX_FILTERS = 16;
const TYPES = [
  'RequestHeaderModifier',
  'ResponseHeaderModifier',
  'RequestMirror',
  'ExtensionRef',
] as const;

/**
 * Reads the filters of a rule or of a backend. gRPC clients have none of those of the API, which is a violation.
 * @returns a text for each filter that refers to an object of another kind, which is never known here: as the API has it, calls must
 * not go around such a filter, and fail.
 */
export function readFilters(
  fields: NamedFields,
  findings: RouteFindings,
  violations: Violations,
): readonly string[] {
  return readItems(fields, 'filters', MAX_FILTERS, violations, (filter, at) => {
    const type = findings.readValue(filter, 'type', TYPES, at);
    if (type === 'ExtensionRef') return describeExtension(filter.get('extensionRef'));
    if (type !== undefined) {
      findings.filterProblems++;
      return at.at('type').add(`gRPC clients have no filter ${type}`);
    }
    return filter.has('type') ? undefined : at.at('type').add('field not present');
  });
}

function describeExtension(ref: unknown): string {
  const text = (field: string) => {
    const value = valueAt(ref, field);
    return quoteText(typeof value === 'string' ? value : '');
  };
  return `the filter ${text('name')} of the kind ${text('kind')} and the group ${text('group')} is not known`;
}
