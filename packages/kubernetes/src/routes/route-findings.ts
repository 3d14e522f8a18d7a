import type { NamedFields } from '../../../../src/util/json-fields';
import type { Violations } from '../../../../src/util/violations';
import { readWord } from '../read-values';
import { RouteExpressions } from './expressions';

/** What is found of a route besides its rules while they are read. */
export class RouteFindings {
  readonly expressions = new RouteExpressions();
  /** Whether an enumeration has a value that is not known, such as one of a later version of the API. */
  hasUnknownValue = false;
  /** How many violations are filters that gRPC clients do not have. */
  filterProblems = 0;
  /** The fields that have no effect. */
  readonly unused = new Set<string>();

  /** Reads the value of an enumeration; undefined if it is absent, and after adding a violation. */
  readValue<Value extends string>(
    fields: NamedFields,
    name: string,
    values: readonly Value[],
    violations: Violations,
  ): Value | undefined {
    const value = readWord(fields, name, values, violations);
    if (value === undefined && fields.has(name)) this.hasUnknownValue = true;
    return value;
  }

  /** Notes the fields of an object of which nothing is read. */
  noteUnused(fields: NamedFields, used: ReadonlySet<string>, path: string): void {
    for (const name of fields.keys()) {
      if (!used.has(name)) this.unused.add(`${path}.${name}`);
    }
  }
}
