// Runs a real Prometheus on loopback, with the rules of alerts.yml in a time that runs faster.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, URLSearchParams } from 'node:url';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { freePort } from './free-port.mjs';
import { readRules } from './queries.mjs';

const execute = promisify(execFile);
const here = fileURLToPath(new URL('.', import.meta.url));

const APT = ['-q', '-y', '-o', 'Acquire::Retries=3'];
const SCRAPE_INTERVAL = '400ms';

const isInstalled = async (program) => {
  try {
    await execute(program, ['--version']);
    return true;
  } catch {
    return false;
  }
};

/**
 * Whether there is a Prometheus; where `CI=true`, that of Debian is installed.
 * @returns the programs that are missing.
 */
export async function missingPrograms() {
  const programs = ['prometheus', 'promtool'];
  const findMissing = async () => {
    const found = await Promise.all(programs.map(isInstalled));
    return programs.filter((_, i) => !found[i]);
  };
  const missing = await findMissing();
  if (missing.length === 0 || process.env.CI !== 'true') return missing;
  try {
    await execute('apt-get', [...APT, 'update']);
    await execute('apt-get', [...APT, 'install', '--no-install-recommends', 'prometheus']);
  } catch (error) {
    console.log(`prometheus cannot be installed: ${error.message}`);
  }
  return findMissing();
}

/** Runs promtool in this folder. @throws with what it printed, if it finds something. */
export async function promtool(...args) {
  try {
    await execute('promtool', args, { cwd: here });
  } catch (error) {
    const output = `${error.stdout ?? ''}${error.stderr ?? ''}`;
    throw new Error(`promtool ${args.join(' ')}\n${output}`, { cause: error });
  }
}

/** Makes the ranges and offsets of a query shorter. */
export const accelerate = (expr, speed) =>
  expr.replace(
    /(\[|\boffset )(\d+)m\b/g,
    (_, before, minutes) => `${before}${Math.round((minutes * 60_000) / speed)}ms`,
  );

const accelerateRules = ({ groups }, speed) => ({
  groups: groups.map((group) => ({
    ...group,
    rules: group.rules.map((rule) => ({
      ...rule,
      expr: accelerate(rule.expr, speed),
      ...(rule.for && { for: accelerate(`[${rule.for}`, speed).slice(1) }),
    })),
  })),
});

/** A Prometheus that scrapes a port of this machine. */
export class Prometheus {
  #folder = mkdtempSync(join(tmpdir(), 'grpc-xds-prometheus-'));
  #process;
  #address;

  async start(scrapedPort, speed) {
    const write = (name, value) => writeFileSync(join(this.#folder, name), stringify(value));
    write('alerts.yml', accelerateRules(readRules(), speed));
    write('prometheus.yml', {
      global: { scrape_interval: SCRAPE_INTERVAL, evaluation_interval: SCRAPE_INTERVAL },
      rule_files: ['alerts.yml'],
      scrape_configs: [
        { job_name: 'grpc-xds', static_configs: [{ targets: [`127.0.0.1:${scrapedPort}`] }] },
      ],
    });
    this.#address = `127.0.0.1:${await freePort()}`;
    const flags = [
      `--config.file=${join(this.#folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(this.#folder, 'data')}`,
      `--web.listen-address=${this.#address}`,
      '--log.level=error',
    ];
    this.#process = spawn('prometheus', flags, { stdio: ['ignore', 'inherit', 'inherit'] });
    while (!(await this.#isReady())) await sleep(100);
    // The first scrape is some seconds later.
    while ((await this.#upNow()).length === 0) await sleep(100);
  }

  /** Until a scrape has succeeded, and the alerts from before have ended. */
  async untilUp() {
    while ((await this.#upNow())[0] !== '1') await sleep(100);
    while ((await this.firingAlerts()).length > 0) await sleep(100);
  }

  /** The alerts that fire now. */
  async firingAlerts() {
    const { alerts } = await this.#get('alerts');
    return alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname);
  }

  /**
   * The series of a query between two times, both in seconds.
   * @returns for each its labels and its values as [time, number].
   */
  async query(expr, start, end) {
    const parameters = new URLSearchParams({ query: expr, start, end, step: '0.4' });
    const { result } = await this.#get(`query_range?${parameters}`);
    return result.map(({ metric, values }) => ({
      labels: metric,
      values: values.map(([time, value]) => [time, Number(value)]),
    }));
  }

  async stop() {
    if (this.#process !== undefined && this.#process.exitCode === null) {
      this.#process.kill();
      await once(this.#process, 'exit');
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #upNow() {
    const { result } = await this.#get('query?query=up');
    return result.map(({ value: [, value] }) => value);
  }

  async #isReady() {
    if (this.#process.exitCode !== null) throw new Error('prometheus has ended');
    try {
      return (await fetch(`http://${this.#address}/-/ready`)).ok;
    } catch {
      return false;
    }
  }

  async #get(path) {
    const answer = await (await fetch(`http://${this.#address}/api/v1/${path}`)).json();
    if (answer.status !== 'success') throw new Error(`${path}: ${answer.error}`);
    return answer.data;
  }
}
