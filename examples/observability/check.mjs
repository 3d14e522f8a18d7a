// Runs the example with its incidents in a short time. Every query of the dashboard must have a result in a real
// Prometheus, and every alert must fire in its incident and in no earlier one. Without Prometheus, the names of metrics
// and labels are compared with what the example exports.
//
//   npm run build && node examples/observability/check.mjs          # with --names, no more than that comparison
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { incidents } from './incidents.mjs';
import { freePort } from './free-port.mjs';
import { accelerate, missingPrograms, Prometheus, promtool } from './prometheus.mjs';
import { alertQueries, dashboardQueries, parseScrape, problemsOf } from './queries.mjs';

const SPEED = 75;
/** How many seconds after its end an incident may still be seen: two scrapes, two evaluations, and a busy machine. */
const GRACE_S = 3;
/** The alert that is for the end of the process. */
const ABSENT = 'XdsMetricsAbsent';
const ABSENT_TIMEOUT_MS = 30_000;

const now = () => Date.now() / 1000;
const failures = [];
const row = (verdict, what, details = '') => {
  console.log(`${verdict.padEnd(6)} ${what.padEnd(58)} ${details}`);
};
const judge = (problem, what, details) => {
  if (problem !== undefined) failures.push(what);
  row(problem === undefined ? 'ok' : 'FAILED', what, problem ?? details);
};

const scrape = (port) =>
  fetch(`http://127.0.0.1:${port}/metrics`).then(
    async (answer) => parseScrape(await answer.text()),
    () => [],
  );

/** The example as a process, with its incidents and all that it has exported. */
class Example {
  events = [];
  #series = new Map();
  #isOver = false;
  #process;

  /** @param port Of its metrics. */
  constructor(port) {
    this.port = port;
  }

  start(speed) {
    const script = fileURLToPath(new URL('main.mjs', import.meta.url));
    const flags = ['--port', String(this.port), '--speed', String(speed)];
    this.#process = spawn(process.execPath, [...process.execArgv, script, ...flags], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    createInterface(this.#process.stdout).on('line', (line) => this.#onLine(line));
  }

  get series() {
    return [...this.#series.values()];
  }

  /** Scrapes until all incidents have been played, or what was exported is enough. */
  async untilOver(isEnough = () => false) {
    while (!this.#isOver && !isEnough(this.series)) {
      const { exitCode } = this.#process;
      if (exitCode !== null) throw new Error(`the example ended with ${exitCode}`);
      for (const one of await scrape(this.port)) this.#series.set(JSON.stringify(one), one);
      await sleep(500);
    }
  }

  async stop() {
    if (
      this.#process === undefined ||
      this.#process.exitCode !== null ||
      this.#process.signalCode !== null
    )
      return;
    this.#process.kill();
    await once(this.#process, 'exit');
  }

  #onLine(line) {
    const [, event, name] = /min {2}(begins|ended) +(.*)$/.exec(line) ?? [];
    if (event !== undefined) this.events.push({ event, name, time: now() });
    if (line.includes('all is well again')) this.#isOver = true;
  }
}

const queries = [...dashboardQueries(), ...alertQueries()];

const hasAllNames = (series) => queries.every((query) => problemsOf(query, series).length === 0);

function checkNames(series) {
  for (const query of queries) {
    const problems = problemsOf(query, series);
    if (problems.length > 0) judge(problems.join('; '), `names in ${query.where}`);
  }
  const right = queries.filter((query) => problemsOf(query, series).length === 0);
  row('', `${right.length} of ${queries.length} queries name only what is exported`);
}

async function checkDashboard(prometheus, start, end) {
  for (const { where, expr } of dashboardQueries()) {
    const result = await prometheus.query(accelerate(expr, SPEED), start, end);
    const values = result
      .flatMap((one) => one.values)
      .filter(([, value]) => Number.isFinite(value));
    const problem = values.length === 0 ? `no value: ${expr}` : undefined;
    judge(problem, where, `${result.length} series, ${values.length} values`);
  }
}

/** When the incidents of an alert happened: a list of [begin, end], in seconds. */
const timesOf = (alert, events) =>
  incidents
    .filter(({ alerts }) => alerts.includes(alert))
    .map(({ name }) => {
      const timeOf = (event) => events.find((one) => one.name === name && one.event === event).time;
      return [timeOf('begins'), timeOf('ended') + GRACE_S];
    });

async function checkAlerts(prometheus, events, start, stoppedAt) {
  for (const { alert, where } of alertQueries()) {
    const expr = `ALERTS{alertname="${alert}", alertstate="firing"}`;
    const fired = await prometheus.query(expr, start, now());
    const first = Math.min(...fired.flatMap(({ values }) => values.map(([time]) => time)));
    const times = alert === ABSENT ? [[stoppedAt, Infinity]] : timesOf(alert, events);
    const isInTime = times.some(([from, to]) => first >= from && first <= to);
    const minutes = ([from]) => `${(((first - from) * SPEED) / 60).toFixed(1)} min after the start`;
    const problem = isInTime
      ? undefined
      : `first fired at ${first}, not in ${JSON.stringify(times)}`;
    judge(problem, where, problem ?? minutes(times[0]));
  }
}

async function untilAbsent(prometheus) {
  const deadline = Date.now() + ABSENT_TIMEOUT_MS;
  while (!(await prometheus.firingAlerts()).includes(ABSENT) && Date.now() < deadline) {
    await sleep(200);
  }
}

async function checkFiles() {
  await promtool('check', 'config', 'prometheus.yml');
  row('ok', 'promtool check config prometheus.yml');
  await promtool('test', 'rules', 'alerts.test.yml');
  row('ok', 'promtool test rules alerts.test.yml');
}

async function checkInPrometheus(example) {
  const prometheus = new Prometheus();
  try {
    await prometheus.start(example.port, SPEED);
    example.start(SPEED);
    await prometheus.untilUp();
    const start = now();
    await example.untilOver();
    await example.stop();
    const stoppedAt = now();
    await untilAbsent(prometheus);
    await checkDashboard(prometheus, start, stoppedAt);
    await checkAlerts(prometheus, example.events, start, stoppedAt);
  } finally {
    await prometheus.stop();
  }
}

async function checkWithoutPrometheus(example, reason) {
  example.start(SPEED);
  await example.untilOver(hasAllNames);
  row('skip', 'queries and alerts in Prometheus', reason);
}

const isNamesOnly = process.argv.includes('--names');
const missing = isNamesOnly ? [] : await missingPrograms();
const example = new Example(await freePort());
try {
  if (isNamesOnly) {
    await checkWithoutPrometheus(example, '--names');
  } else if (missing.length > 0) {
    const reason = `not on this machine: ${missing.join(', ')}`;
    await checkWithoutPrometheus(example, reason);
    if (process.env.CI === 'true') judge(reason, 'Prometheus');
  } else {
    await checkFiles();
    await checkInPrometheus(example);
  }
  checkNames(example.series);
} finally {
  await example.stop();
}
console.log(failures.length === 0 ? '\nok' : `\n${failures.length} failed`);
process.exitCode = failures.length === 0 ? 0 : 1;
