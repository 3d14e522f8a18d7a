// The security and authorization cases of psm-interop with the test client of grpc-go, its test server, or both.
import { fileURLToPath } from 'node:url';
import { cases as authz } from '../cases/authz.mjs';
import { cases as security } from '../cases/security.mjs';
import { buildTestProgram } from '../go/test-programs.mjs';
import { inOrder } from '../harness/in-order.mjs';
import { Mesh } from '../harness/mesh.mjs';

/** Most of a case is waiting. */
const JOBS = 3;

const PAIRS = [
  ['node', 'go'],
  ['go', 'node'],
];
/** These show that a case is as grpc-go has it. */
const WITHOUT_US = [['go', 'go']];

const own = (name) => [
  process.execPath,
  fileURLToPath(new URL(`../bin/grpc-xds-interop-${name}.mjs`, import.meta.url)),
];

const runCase = async (run, options) => {
  const mesh = new Mesh(options);
  try {
    await mesh.addControlPlane();
    const { passed, measured } = await run(mesh);
    if (!passed) throw new Error(`${measured}\n${mesh.output}`);
  } finally {
    await mesh.stop();
  }
};

const run = async ({ step, sample }) => {
  const programs = {
    node: { client: own('client'), server: own('server') },
    go: { client: [buildTestProgram('client')], server: [buildTestProgram('server')] },
  };
  const casesOf = ([client, server]) =>
    [...security, ...authz].map((each) => ({ ...each, client, server }));
  const all = [...PAIRS.flatMap(casesOf), ...sample(WITHOUT_US.flatMap(casesOf))];
  const runStep = ({ name, client, server, run: runIn }) =>
    step(`${name}: client ${client}, server ${server}`, () =>
      runCase(runIn, {
        commands: { client: programs[client].client, server: programs[server].server },
        hasOwnClient: client === 'node',
      }),
    );
  await inOrder(all, JOBS, runStep, () => undefined);
};

export const securityCases = [
  {
    name: 'security: the cases of psm-interop with the programs of grpc-go',
    languages: ['go'],
    run,
  },
];
