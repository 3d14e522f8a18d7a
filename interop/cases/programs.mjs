// What the programs themselves offer to those who direct a test, beside what the other cases use.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import {
  credentials,
  getChannelzServiceDefinition,
  loadPackageDefinition,
  makeGenericClientConstructor,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { service as healthService } from 'grpc-health-check';
import { Child, freePort } from '../harness/children.mjs';
import { csdsService, resourcesOf } from '../harness/csds.mjs';
import { oneCluster, serverListener } from '../harness/resources.mjs';
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
const ChannelzClient = makeGenericClientConstructor(getChannelzServiceDefinition(), 'Channelz');

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

const secureModeOfClient = {
  name: 'programs: secure_mode of a client',
  expect: 'calls to a cluster without TLS succeed',
  async run(mesh) {
    const servers = await mesh.servers(1);
    mesh.serve(oneCluster([{ servers }]));
    return untilOnly(await mesh.client({ secure_mode: true }), servers, 20);
  },
};

const secureModeWithOnePort = {
  name: 'programs: secure_mode of a server with one port',
  expect: 'the server ends with 2 and names the flag',
  async run(mesh) {
    const child = new Child(mesh.commands.server, ['--secure_mode=true']);
    const code = await child.ended;
    const passed = code === 2 && child.output.includes('--maintenance_port');
    return verdict(passed, `ended with ${code}: ${child.output}`);
  },
};

/** The Listener that a server of an address type requests, and the addresses at which it serves. */
const ADDRESS_TYPES = {
  IPV4: { text: '0.0.0.0', host: '0.0.0.0', served: ['127.0.0.1'] },
  IPV6: { text: '[::]', host: '::', served: ['[::1]'] },
  IPV4_IPV6: { text: '[::]', host: '::', served: ['127.0.0.1', '[::1]'] },
};

const codeAt = (address) =>
  withClients(address, [testing.TestService], async (client) => {
    const { code } = await ask(client, 'EmptyCall');
    return code;
  });

/** What answers at the addresses of a server, before there is a Listener of its name and after. */
const tryAddressType = async (mesh, [type, { text, host, served }]) => {
  const server = await mesh.xdsServer(type, [`--address_type=${type}`]);
  const at = { name: `server/${text}:${server.port}`, host, port: server.port };
  const codes = async () => {
    const found = await Promise.all(served.map((one) => codeAt(`${one}:${server.port}`)));
    return found.map((code) => status[code]).join(' ');
  };
  const before = await codes();
  mesh.serve({ listeners: [serverListener(at)] });
  const after = await pollUntil(codes, (found) => !found.includes('UNAVAILABLE'));
  const expected = (name) => served.map(() => name).join(' ');
  const passed = before === expected('UNAVAILABLE') && after === expected('OK');
  return verdict(passed, `${type} at ${served.join(' and ')}: ${before}, then ${after}`);
};

const secureModeByAddressType = {
  name: 'programs: secure_mode of a server by address type',
  expect: 'the server requests the Listener of its address, and serves the address once it has one',
  async run(mesh) {
    const verdicts = [];
    for (const entry of Object.entries(ADDRESS_TYPES)) {
      verdicts.push(await tryAddressType(mesh, entry));
    }
    return allOf(...verdicts);
  },
};

/** The test service is at one port, and all others at the other; CSDS has the Listener. */
const secureModeMaintenance = {
  name: 'programs: maintenance of a server in secure_mode',
  expect: 'health, channelz and CSDS answer before there is a Listener; then CSDS has it',
  async run(mesh) {
    const server = await mesh.xdsServer('maintenance', ['--address_type=IPV4']);
    const name = `server/0.0.0.0:${server.port}`;
    const classes = [HealthClient, ChannelzClient, csdsService];
    return withClients(
      `127.0.0.1:${server.maintenancePort}`,
      classes,
      async (healthClient, channelz, csds) => {
        const { answer: healthy } = await ask(healthClient, 'check', { service: '' });
        const { answer: listed } = await ask(channelz, 'GetServers');
        const stateOf = async () => {
          const { answer } = await ask(csds, 'FetchClientStatus');
          return resourcesOf(answer.config).find((one) => one.name === name)?.state;
        };
        const before = await pollUntil(stateOf, (state) => state !== undefined);
        mesh.serve({
          listeners: [serverListener({ name, host: '0.0.0.0', port: server.port })],
        });
        const after = await pollUntil(stateOf, (state) => state === 'ACKED');
        const measured = `${healthy.status}, ${listed.server.length} servers, ${before} → ${after}`;
        return verdict(measured === 'SERVING, 2 servers, REQUESTED → ACKED', measured);
      },
    );
  },
};

/** Cases that need more of a program than others, so that they are for those of this package. */
const ofOwn = (programs, cases) => cases.map((each) => ({ ...each, ofOwn: programs }));

export const cases = [
  ...ofOwn(['server'], [health, hook, reflection]),
  ...ofOwn(['server'], [secureModeWithOnePort, secureModeByAddressType, secureModeMaintenance]),
  ...ofOwn(['client'], [payloads, failOnFailed, secureModeOfClient]),
];
