// The cases of the TLS matrix (test/tls-matrix) that other implementations can be given, judged by grpc-go and C-core with the
// same certificates, servers and control plane.
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environmentOf } from './environment.mjs';
import { matrixDisagreements } from './matrix-disagreements.mjs';

/** Only a client that fails takes so long, */
const CALL_TIMEOUT_MS = 10_000;
/** or one that waits for files that never come. */
const FILES_TIMEOUT_MS = 3000;
/** Processes of each implementation. */
const LANES = 4;
const JUDGES = ['go', 'python'];

/** The matrix is TypeScript, as all tests are. */
const loadMatrix = () => {
  const require = createRequire(import.meta.url);
  require('../../test/support/run-typescript.cjs');
  const { ALL_CASES, titleOf } = require('../../test/tls-matrix/all-cases');
  const { MatrixWorld } = require('../../test/tls-matrix/matrix-world');
  const { serviceName } = require('../../test/tls-matrix/case-resources');
  return { cases: ALL_CASES.filter(isForOthers), titleOf, MatrixWorld, serviceName };
};

/** Whether a case is about one call under xDS credentials with an insecure fallback, which every implementation has. */
const isForOthers = ({ steps, environment, credentials, token, isSlow, files, isProxied }) =>
  [steps, environment, credentials, token, isSlow, files, isProxied].every(
    (special) => special === undefined,
  );

const isAboutFiles = ({ group }) => /: (?:unusable|maps)$/.test(group);

/** What became of a call, as `verdictOf` has it for what is expected. */
const observe = async (client, { target, backend, row }) => {
  const timeoutMs = isAboutFiles(row) ? FILES_TIMEOUT_MS : CALL_TIMEOUT_MS;
  const command = { target, count: 1, timeoutMs, failFast: true, secure: true };
  const { message } = await client.ask({ do: 'call', ...command });
  await client.ask({ do: 'close', target });
  const { connections } = backend;
  const used = connections.find(({ calls }) => calls > 0);
  const isClear = connections.some(({ kind }) => kind === 'plain');
  const serverName = connections.find(({ kind }) => kind === 'tls')?.serverName ?? '';
  if (used === undefined) return { verdict: isClear ? 'plain text, fails' : 'fails', message };
  return { verdict: used.kind === 'tls' ? describeTls(serverName) : 'plain text', message };
};

const describeTls = (serverName) => (serverName === '' ? 'TLS' : `TLS to ${serverName}`);

const verdictOf = ({ kind, serverName = '' }) => {
  if (kind === 'tls') return describeTls(serverName);
  return kind === 'plain' ? 'plain text' : 'fails';
};

/** One case after the other, each with a server of its own. A client that a case has ended is started again. */
const runLane = async (node, queue, { start, world, serviceName, outcomes }) => {
  let client = await start(node);
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const [index, row] = next;
    const id = `${node}-${index}`;
    const backend = await world.backend(row.server);
    world.serve(node, id, row, backend.port);
    const call = { target: `xds:///${serviceName(id)}`, backend, row };
    try {
      outcomes[index] = await observe(client, call);
    } catch (error) {
      outcomes[index] = { verdict: 'ends the process', message: error.message };
      client = await start(node);
    }
    backend.stop();
  }
  await client.stop();
};

const judgeAll = async (language, { cases, ...options }) => {
  const queue = [...cases.entries()];
  const outcomes = [];
  const lanes = Array.from({ length: LANES }, (_, lane) =>
    runLane(`${language}-${lane}`, queue, { ...options, outcomes }),
  );
  await Promise.all(lanes);
  return outcomes;
};

/** Compares a verdict with what is expected, and a difference with the list of those that are known. */
const check = (title, language, expected, { verdict, message }) => {
  const because = matrixDisagreements[title]?.[language];
  const isDifferent = verdict !== expected;
  if (isDifferent && because === undefined) {
    throw new Error(`${language}: expected ${expected}, got ${verdict} (${message.slice(0, 300)})`);
  }
  if (!isDifferent && because !== undefined) {
    throw new Error(`${language} agrees: ${expected}, although it should not: ${because}`);
  }
  return isDifferent;
};

const report = (rows, languages) => {
  for (const { title, different } of rows) {
    for (const { language, verdict } of different) {
      const because = matrixDisagreements[title]?.[language] ?? 'not known';
      console.log(`    ${language.padEnd(7)} ${title}: ${verdict}: ${because}`);
    }
  }
  const agreeing = languages.map((language) => {
    const count = rows.filter(({ different }) =>
      different.every((one) => one.language !== language),
    );
    return `${language} agrees on ${count.length}`;
  });
  console.log(`    ${rows.length} cases, ${agreeing.join(', ')}`);
};

const compare = async ({ peers, available, step, sample }, folder) => {
  const { cases: all, titleOf, MatrixWorld, serviceName } = loadMatrix();
  const cases = sample(all);
  const world = await new MatrixWorld(folder, cases).start(cases);
  try {
    const { certificate_providers, xds_servers } = world.bootstrap('');
    const environment = environmentOf({ systemRoot: world.certificates.file('system-root') });
    const languages = JUDGES.filter((language) => available.has(language));
    const [{ server_uri: address }] = xds_servers;
    const bootstrap = { certificate_providers };
    const byLanguage = await Promise.all(
      languages.map(async (language) => {
        const since = performance.now();
        const start = (node) => peers.client(language, address, { node, bootstrap, environment });
        const outcomes = await judgeAll(language, { start, world, cases, serviceName });
        console.log(`    ${language} took ${((performance.now() - since) / 1000).toFixed(1)} s`);
        return { language, outcomes };
      }),
    );
    const rows = [];
    for (const [index, row] of cases.entries()) {
      const title = titleOf(row);
      const expected = verdictOf(row.expected);
      const different = [];
      rows.push({ title, different });
      await step(title, () => {
        const found = byLanguage.map(({ language, outcomes }) => ({
          language,
          ...outcomes[index],
        }));
        different.push(...found.filter(({ verdict }) => verdict !== expected));
        for (const one of found) check(title, one.language, expected, one);
      });
    }
    report(rows, languages);
    await step('every disagreement is about a case', () => {
      const titles = new Set(all.map(titleOf));
      const unknown = Object.keys(matrixDisagreements).filter((title) => !titles.has(title));
      if (unknown.length > 0) throw new Error(unknown.join('; '));
    });
  } finally {
    world.stop();
  }
};

const run = async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-tls-matrix-'));
  try {
    await compare(context, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

export const tlsMatrix = [
  { name: 'tls matrix: what grpc-go and C-core make of the same cases', languages: ['go'], run },
];
