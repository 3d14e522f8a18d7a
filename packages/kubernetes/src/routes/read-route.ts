import {
  readList,
  readObject,
  readRequiredString,
  type NamedFields,
} from '../../../../src/util/json-fields';
import { cutText, listFirst, quoteText } from '../../../../src/util/text';
import { Violations } from '../../../../src/util/violations';
import type { GrpcRouteObject } from '../objects';
import { readItems, readText } from '../read-values';
import { readBackend, readPort, type BackendRef } from './backend-ref';
import { readFilters } from './route-filters';
import { RouteFindings } from './route-findings';
import { MATCH_ALL, readMatch, type RuleMatch } from './route-match';

/** A parent of a route that is a Service. */
export interface ParentRef {
  readonly namespace: string;
  readonly name: string;
  /** The port of the service that the route is for, if it is not for all of them. */
  readonly port: number | undefined;
  /** The name of that port. */
  readonly sectionName: string | undefined;
  /** The reference as the status repeats it. */
  readonly json: Readonly<Record<string, unknown>>;
}

/** A rule of a route. */
export interface RouteRule {
  /** Its name, or its place in the route. */
  readonly name: string;
  readonly matches: readonly RuleMatch[];
  readonly backends: readonly BackendRef[];
  /** Filters that refer to objects of other kinds: its calls fail. */
  readonly unresolvedFilters: readonly string[];
  /** Why the rule has no effect, with the path of each field; empty if it has. */
  readonly problems: readonly string[];
  /** Whether these are filters, or there are none. */
  readonly hasOnlyFilterProblems: boolean;
}

/** Why a route has no effect. */
export interface RouteRefusal {
  readonly reason: 'UnsupportedValue' | 'IncompatibleFilters';
  readonly message: string;
}

/** What a GRPCRoute says, as far as that is known without other objects. */
export interface ReadRoute {
  readonly parents: readonly ParentRef[];
  readonly rules: readonly RouteRule[];
  /** Undefined if at least one rule has an effect. */
  readonly refusal: RouteRefusal | undefined;
  /** The fields that are set and have no effect. */
  readonly unused: readonly string[];
}

// The limits of the API.
const MAX_PARENTS = 32;
const MAX_RULES = 16;
const MAX_MATCHES = 64;
const MAX_BACKENDS = 16;

const RULE_NAME = /^[a-z0-9](?:[-.a-z0-9]*[a-z0-9])?$/;

const MAX_SHOWN_LENGTH = 400;

const USED_BY_ROUTE = new Set(['parentRefs', 'rules']);
const USED_BY_RULE = new Set(['name', 'matches', 'filters', 'backendRefs', 'sessionPersistence']);

/** Objects are immutable: each is read once, although the routes of a service are made again when another of them changes. */
const known = new WeakMap<GrpcRouteObject, ReadRoute>();

/** Reads the specification of a route. */
export function readRoute(route: GrpcRouteObject): ReadRoute {
  let read = known.get(route);
  if (read === undefined) {
    read = readSpec(route);
    known.set(route, read);
  }
  return read;
}

function readSpec({ spec, meta: { namespace } }: GrpcRouteObject): ReadRoute {
  const findings = new RouteFindings();
  const violations = Violations.root();
  const at = violations.at('spec');
  const fields: NamedFields = readObject(spec, at) ?? new Map<string, unknown>();
  findings.noteUnused(fields, USED_BY_ROUTE, 'spec');
  const parents = readItems(fields, 'parentRefs', MAX_PARENTS, at, (parent, place) =>
    readParent(parent, namespace, place),
  );
  const list = readList(fields, 'rules', at);
  if (list.length > MAX_RULES)
    at.at('rules').add(`${list.length} elements, more than ${MAX_RULES}`);
  const rules = list.slice(0, MAX_RULES).map((rule, i) => readRule(rule, i, namespace, findings));
  const refusal = findRefusal(rules, findings, violations);
  return {
    parents: parents.filter((parent) => parent !== 'other'),
    rules,
    refusal,
    unused: [...findings.unused],
  };
}

/** Reads an element of `parentRefs`; `'other'` if it is not a Service, and undefined after adding a violation. */
function readParent(
  fields: NamedFields,
  routeNamespace: string,
  violations: Violations,
): ParentRef | 'other' | undefined {
  // Without a group, the parent is of Gateway API, and without a kind a Gateway.
  if (fields.get('group') !== '' || fields.get('kind') !== 'Service') return 'other';
  const name = readRequiredString(fields, 'name', violations);
  const port = readPort(fields, violations);
  const namespace = readText(fields, 'namespace', violations);
  const sectionName = readText(fields, 'sectionName', violations);
  if (name === undefined) return undefined;
  const json = {
    group: '',
    kind: 'Service',
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(sectionName === undefined ? {} : { sectionName }),
    ...(port === undefined ? {} : { port }),
  };
  return { namespace: namespace ?? routeNamespace, name, port, sectionName, json };
}

function readRule(
  json: unknown,
  index: number,
  namespace: string,
  findings: RouteFindings,
): RouteRule {
  const root = Violations.root();
  const at = root.at('spec').at('rules').index(index);
  const filterProblems = findings.filterProblems;
  const fields: NamedFields = readObject(json, at) ?? new Map<string, unknown>();
  findings.noteUnused(fields, USED_BY_RULE, 'spec.rules[]');
  const matches = readItems(fields, 'matches', MAX_MATCHES, at, (match, place) =>
    readMatch(match, findings, place),
  );
  const backends = readItems(fields, 'backendRefs', MAX_BACKENDS, at, (ref, place) =>
    readBackend(ref, namespace, findings, place),
  );
  const unresolvedFilters = readFilters(fields, findings, at);
  if (fields.has('sessionPersistence')) at.at('sessionPersistence').add('is not supported');
  const name = readText(fields, 'name', at) ?? String(index);
  if (!RULE_NAME.test(name)) at.at('name').add(`${quoteText(name)} is not the name of a rule`);
  return {
    name,
    backends,
    unresolvedFilters,
    problems: root.all,
    matches: matches.length === 0 ? [MATCH_ALL] : matches,
    hasOnlyFilterProblems: findings.filterProblems - filterProblems === root.count,
  };
}

/** Returns why no rule of the route has an effect. */
function findRefusal(
  rules: readonly RouteRule[],
  { hasUnknownValue }: RouteFindings,
  route: Violations,
): RouteRefusal | undefined {
  if (route.count > 0) return { reason: 'UnsupportedValue', message: joinTexts(route.all) };
  const invalid = rules.filter(({ problems }) => problems.length > 0);
  if (invalid.length < rules.length && !hasUnknownValue) return undefined;
  if (rules.length === 0) return { reason: 'UnsupportedValue', message: 'The route has no rules.' };
  const isFiltered = invalid.every(({ hasOnlyFilterProblems }) => hasOnlyFilterProblems);
  const message = joinTexts(invalid.flatMap(({ problems }) => problems));
  return { reason: isFiltered ? 'IncompatibleFilters' : 'UnsupportedValue', message };
}

/** Joins the texts of a message of a condition. */
export function joinTexts(texts: readonly string[]): string {
  const shown = listFirst(texts, (text) => cutText(text, MAX_SHOWN_LENGTH));
  return shown.join('; ');
}
