// The queries of the dashboard and of the alerts, and whether the metrics and labels that they name are exported.
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

const read = (name) => readFileSync(new URL(name, import.meta.url), 'utf8');

/** Prometheus adds these to everything that it scrapes. */
const ADDED_LABELS = ['job', 'instance'];
const KEYWORDS = ['and', 'bool', 'offset', 'or', 'unless'];

/** The variables of the dashboard, as if all targets were chosen. */
const withVariables = (expr) =>
  expr.replaceAll('$target', '.*').replaceAll('$__rate_interval', '5m');

/** The queries of the dashboard's panels; `labels` are those that the legend shows. */
export const dashboardQueries = () => {
  const { panels } = JSON.parse(read('dashboard.json'));
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({
      where: `panel "${title}"`,
      expr: withVariables(expr),
      labels: [...legendFormat.matchAll(/{{(\w+)}}/g)].map(([, label]) => label),
    })),
  );
};

/** The content of alerts.yml. */
export const readRules = () => parse(read('alerts.yml'));

/** The queries of the alerts; `labels` are those that the annotations show. */
export const alertQueries = () =>
  readRules().groups.flatMap(({ rules }) =>
    rules.map(({ alert, expr, annotations }) => ({
      where: `alert ${alert}`,
      alert,
      expr,
      labels: Object.values(annotations).flatMap((text) =>
        [...text.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label),
      ),
    })),
  );

const unescape = (text) => text.replace(/\\(.)/g, (_, char) => (char === 'n' ? '\n' : char));

/** The series of a scrape in the text format, without values. */
export const parseScrape = (text) =>
  text.split('\n').flatMap((line) => {
    const [, name, labels = ''] = /^([a-zA-Z_:][\w:]*)(?:{(.*)})? \S+( \d+)?$/.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
    const entries = pairs.map(([, label, value]) => [label, unescape(value)]);
    return [{ name, labels: Object.fromEntries(entries) }];
  });

const MATCHERS = {
  '=': (value, text) => value === text,
  '!=': (value, text) => value !== text,
  '=~': (value, text) => new RegExp(`^(?:${text})$`, 'v').test(value),
  '!~': (value, text) => !new RegExp(`^(?:${text})$`, 'v').test(value),
};

const parseMatchers = (text) =>
  [...text.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"/g)].map(
    ([, label, operator, value]) => ({ label, operator, value: unescape(value) }),
  );

/** Lists the selectors of a query, and the labels by which it aggregates. */
const parseQuery = (expr) => {
  const grouping = new Set();
  const withoutGrouping = expr.replace(/\b(?:by|on|ignoring|without)\s*\(([^)]*)\)/g, (_, list) => {
    for (const label of list.split(',')) grouping.add(label.trim());
    return '';
  });
  const words = /"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\b\d\w*|([a-zA-Z_:][\w:]*)\s*({[^}]*}|\(?)/g;
  const selectors = [...withoutGrouping.matchAll(words)]
    .filter(([, word, rest]) => word !== undefined && rest !== '(' && !KEYWORDS.includes(word))
    .map(([, name, matchers]) => ({ name, matchers: parseMatchers(matchers) }));
  return { selectors, grouping: [...grouping] };
};

const isMatched = ({ name, matchers }, series) =>
  series.name === name &&
  matchers.every(({ label, operator, value }) =>
    MATCHERS[operator](series.labels[label] ?? '', value),
  );

/**
 * Finds what a query names and a scrape does not have.
 * @param query One of `dashboardQueries` or `alertQueries`.
 * @param series All that were exported; see `parseScrape`.
 * @returns what is wrong, a line each.
 */
export const problemsOf = ({ where, expr, labels }, series) => {
  const { selectors, grouping } = parseQuery(expr);
  const problems = selectors.length === 0 ? [`${where}: no metric`] : [];
  for (const selector of selectors) {
    const { name, matchers } = selector;
    const matched = series.filter((one) => isMatched(selector, one));
    if (matched.length === 0) {
      problems.push(`${where}: no series of ${JSON.stringify(selector)}`);
      continue;
    }
    for (const label of [...grouping, ...matchers.map((matcher) => matcher.label)]) {
      const isKnown = ADDED_LABELS.includes(label) || matched.some((one) => label in one.labels);
      if (!isKnown) problems.push(`${where}: ${name} has no label ${label}`);
    }
  }
  for (const label of labels) {
    if (!grouping.includes(label)) problems.push(`${where}: shows ${label}, which is aggregated`);
  }
  return problems;
};
