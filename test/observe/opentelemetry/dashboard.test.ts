import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { allInstruments } from '../../../src/observe/stats/instrument-table';
import { runModule } from '../../interop/run-module';

// The dashboard and the alerts of examples/observability. `npm run examples -- observability` runs them in Prometheus.

jest.setTimeout(120_000);

const root = join(__dirname, '..', '..', '..');
const sources = join(root, 'test', 'support', 'sources-as-package.mjs');

describe('the dashboard and the alerts of the example', () => {
  it('name metrics, labels and values that the running example exports', async () => {
    const check = join(root, 'examples', 'observability', 'check.mjs');
    const args = ['--import', sources, check, '--names'];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
    expect(stdout).toMatch(/\b(\d{2,}) of \1 queries name only what is exported/);
  });

  it('have an incident for each alert', async () => {
    const answer = await runModule(`
      import { incidents } from './examples/observability/incidents.mjs';
      import { alertQueries } from './examples/observability/queries.mjs';
      const alerts = alertQueries().map(({ alert }) => alert);
      answer(alerts.filter((name) => !incidents.some(({ alerts }) => alerts.includes(name))));
    `);
    // That one is for the end of the process.
    expect(answer).toEqual(['XdsMetricsAbsent']);
  });
});

describe('the names over OTLP', () => {
  // https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/#metric-metadata-1
  const suffixes: ReadonlyMap<string, string> = new Map([
    ['s', '_seconds'],
    ['By', '_bytes'],
  ]);
  const nameOf = (name: string, suffix: string) => `${name.replaceAll('.', '_')}${suffix}_count`;

  it('have the unit of each instrument, unless it is in braces', async () => {
    const names = allInstruments.map(({ name }) => nameOf(name, ''));
    const answer = await runModule(`
      import { withUnits } from './examples/observability/otlp-names.mjs';
      answer(${JSON.stringify(names)}.map((name) => withUnits(name + '{a="b"}')));
    `);
    expect(answer).toEqual(
      allInstruments.map(({ name, unit }) => `${nameOf(name, suffixes.get(unit) ?? '')}{a="b"}`),
    );
  });
});

describe('the comparison of a query with a scrape', () => {
  const scrape = String.raw`# TYPE calls_total counter
calls_total{target="a \"b\", c",status="OK"} 3
calls_total{target="d",status="UNAVAILABLE"} 1
up 1`;
  const RIGHT: readonly (readonly [string, string, readonly string[]])[] = [
    ['a rate by a label', 'sum by (target) (rate(calls_total{status=~"OK|X"}[5m]))', ['target']],
    ['two metrics', 'calls_total{target="a \\"b\\", c"} / on (job) (up unless up offset 15m)', []],
    ['labels of Prometheus', 'max by (job, instance) (up) > 2', ['job']],
    ['a function of a metric', 'absent(up)', []],
  ];
  const WRONG: readonly (readonly [string, string, readonly string[], string])[] = [
    ['a metric that is not exported', 'rate(call_total[5m])', [], 'no series of {"name":"call_tot'],
    ['a value that no series has', 'calls_total{status="OKAY"}', [], 'no series of {"name":"calls'],
    ['a label that it does not have', 'sum by (zone) (up)', [], 'up has no label zone'],
    ['a matcher of such a label', 'up{zone!="x"}', [], 'up has no label zone'],
    [
      'a legend with a lost label',
      'sum by (job) (up)',
      ['zone'],
      'shows zone, which is aggregated',
    ],
    ['no metric', '1 > 2', [], 'no metric'],
  ];
  let problems: ReadonlyMap<string, unknown>;

  beforeAll(async () => {
    const cases = [...RIGHT, ...WRONG].map(([, expr, labels]) => ({ where: 'it', expr, labels }));
    const answer = await runModule(`
      import { parseScrape, problemsOf } from './examples/observability/queries.mjs';
      const scrape = parseScrape(${JSON.stringify(scrape)});
      answer(${JSON.stringify(cases)}.map((query) => problemsOf(query, scrape)));
    `);
    problems = new Map(cases.map(({ expr }, index) => [expr, (answer as unknown[])[index]]));
  });

  it.each(RIGHT)('finds nothing wrong with %s', (_what, expr) => {
    expect(problems.get(expr)).toEqual([]);
  });

  it.each(WRONG)('finds %s', (_what, expr, _labels, problem) => {
    expect(problems.get(expr)).toEqual([expect.stringContaining(problem)]);
  });
});
