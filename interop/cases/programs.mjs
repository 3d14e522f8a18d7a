// What the programs themselves offer to those who direct a test, beside what the other cases use.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import {
  credentials,
  loadPackageDefinition,
  makeGenericClientConstructor,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { service as healthService } from 'grpc-health-check';
import { Child, freePort } from '../harness/children.mjs';
import { oneCluster } from '../harness/resources.mjs';
import { allOf, untilOnly, verdict } from '../harness/verdict.mjs';
import { pollUntil } from '../harness/waiting.mjs';
import { testing } from '../lib/test-protos.mjs';

const ask = (client, method, request = {}) =>
  new Promise((resolve) => {
    client[method](request, { deadline: Date.now() + 60_000 }, (error, answer) =>
      resolve({ code: error?.code ?? status.OK, details: error?.details ?? '', answer }),
    );
  });

const HealthClient = makeGenericClientConstructor(healthService, 'Health');

const withClients = async (address, classes, use) => {
  const clients = classes.map((Client) => new Client(address, credentials.createInsecure()));
  try {
    return await use(...clients);
  } finally {
    for (const client of clients) client.close();
  }
};

const health = {
  name: 'programs: health of a server',
  expect: 'SERVING → NOT_SERVING when told → SERVING when told',
  async run(mesh) {
    const server = await mesh.server('health', []);
    const classes = [HealthClient, testing.XdsUpdateHealthService];
    return withClients(`127.0.0.1:${server.port}`, classes, async (healthClient, control) => {
      const check = async () => (await ask(healthClient, 'check', { service: '' })).answer.status;
      const seen = [await check()];
      await ask(control, 'SetNotServing');
      seen.push(await check());
      await ask(control, 'SetServing');
      seen.push(await check());
      const measured = seen.join(' → ');
      return verdict(measured === 'SERVING → NOT_SERVING → SERVING', measured);
    });
  },
};

const hook = {
  name: 'programs: hook of a server',
  expect: 'a hook waits until the test returns a status; with a status set it returns at once',
  async run(mesh) {
    const server = await mesh.server('hook', []);
    const port = await freePort();
    const start = { command: 'START', server_port: port };
    return withClients(`127.0.0.1:${server.port}`, [testing.XdsUpdateHealthService], (control) =>
      withClients(`127.0.0.1:${port}`, [testing.HookService], async (hooks) => {
        await ask(control, 'SendHookRequest', start);
        let outcome;
        const waiting = ask(hooks, 'Hook').then((result) => (outcome = result));
        await ask(hooks, 'ClearReturnStatus');
        const early = outcome;
        const release = {
          command: 'RETURN',
          grpc_code_to_return: 9,
          grpc_status_description: 'later',
        };
        // The hook may not have arrived yet: whoever asks again, returns again.
        await pollUntil(
          async () => {
            await ask(control, 'SendHookRequest', release);
            return outcome;
          },
          (result) => result !== undefined,
        );
        const { code, details } = await waiting;
        await ask(hooks, 'SetReturnStatus', { grpc_code_to_return: 0 });
        const second = await ask(hooks, 'Hook');
        await ask(control, 'SendHookRequest', { command: 'STOP' });
        const passed = early === undefined && code === 9 && details === 'later';
        const measured = `${status[code]} "${details}" → ${status[second.code]}`;
        return verdict(passed && second.code === status.OK, measured);
      }),
    );
  },
};

const reflectionProto = join(
  dirname(createRequire(import.meta.url).resolve('@grpc/reflection/package.json')),
  'build/proto/grpc/reflection/v1/reflection.proto',
);

/** The names of the services that a program says it has. */
const servicesAt = (address) => {
  const { grpc } = loadPackageDefinition(loadSync(reflectionProto));
  return withClients(
    address,
    [grpc.reflection.v1.ServerReflection],
    (client) =>
      new Promise((resolve, reject) => {
        const stream = client.ServerReflectionInfo();
        stream.on('data', (answer) => {
          resolve(answer.listServicesResponse.service.map(({ name }) => name).sort());
          stream.end();
        });
        stream.on('error', reject);
        stream.write({ listServices: '*' });
      }),
  );
};

const reflection = {
  name: 'programs: reflection of a server',
  expect: 'the services of package grpc.testing are listed',
  async run(mesh) {
    const server = await mesh.server('reflection', []);
    const names = await servicesAt(`127.0.0.1:${server.port}`);
    const wanted = ['TestService', 'XdsUpdateHealthService', 'HookService'];
    const passed = wanted.every((name) => names.includes(`grpc.testing.${name}`));
    return verdict(passed, names.map((name) => name.split('.').at(-1)).join(', '));
  },
};

const payloads = {
  name: 'programs: payload sizes and printed responses of a client',
  expect: 'calls with 2000 bytes and answers with 3000 succeed and are printed',
  async run(mesh) {
    const servers = await mesh.servers(1);
    mesh.serve(oneCluster([{ servers }]));
    const flags = { request_payload_size: 2000, response_payload_size: 3000, print_response: true };
    const client = await mesh.client(flags);
    const calls = await untilOnly(client, servers, 20);
    const line = `UnaryCall answered by ${servers[0].name} with 3000 bytes`;
    return allOf(
      calls,
      verdict(client.output.includes(line), `printed: ${client.output.split('\n').at(-1)}`),
    );
  },
};

const failOnFailed = {
  name: 'programs: fail_on_failed_rpcs of a client',
  expect: 'the client ends with 1 when a call fails after one succeeded',
  async run(mesh) {
    const servers = await mesh.ownServers(1);
    mesh.serve(oneCluster([{ servers }]));
    const client = await mesh.client({ fail_on_failed_rpcs: true });
    const calls = await untilOnly(client, servers, 20);
    await servers[0].stop();
    const code = await client.ended;
    return allOf(calls, verdict(code === 1, `ended with ${code}`));
  },
};

const secureMode = {
  name: 'programs: secure_mode',
  expect:
    'the server ends with 2 and says that it is not supported yet; the client calls a cluster without TLS',
  async run(mesh) {
    const child = new Child(mesh.commands.server, ['--secure_mode=true']);
    const code = await child.ended;
    const refused = code === 2 && child.output.includes('secure_mode');
    const servers = await mesh.ownServers(1);
    mesh.serve(oneCluster([{ servers }]));
    const client = await mesh.client({ secure_mode: true });
    const calls = await untilOnly(client, servers, 20);
    return allOf(calls, verdict(refused, `the server ended with ${code}: ${child.output}`));
  },
};

/** Cases that need more of a program than others, so that they are for those of this package. */
const ofOwn = (programs, cases) => cases.map((each) => ({ ...each, ofOwn: programs }));

export const cases = [
  ...ofOwn(['server'], [health, hook, reflection]),
  ...ofOwn(['client'], [payloads, failOnFailed]),
  ...ofOwn(['client', 'server'], [secureMode]),
];
