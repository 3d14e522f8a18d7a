// Calls a service with more endpoints than the process has file descriptors, and then one that it has no connection to.
import { logVerbosity, setLogger, setLogVerbosity } from '@grpc/grpc-js';
import { register } from '../../../src';
import { EchoClient } from '../../support/echo-backend';

const DEADLINE_MS = 10_000;
const CALLS_AFTER = 20;

const lines: string[] = [];
const write = (text: unknown) => lines.push(String(text));
setLogger({ error: write, info: write, debug: () => {} });
setLogVerbosity(logVerbosity.INFO);

async function main(many: string, other: string): Promise<void> {
  register();
  const client = new EchoClient(many);
  const answers: string[] = [];
  // 1. Calls until there are no descriptors.
  while (!lines.some((line) => line.includes('EMFILE'))) {
    answers.push(await client.say({ deadlineMs: DEADLINE_MS }));
  }
  // 2. Calls go on.
  for (let i = 0; i < CALLS_AFTER; i++) answers.push(await client.say({ deadlineMs: DEADLINE_MS }));
  // 3. Calls that need another connection fail.
  const second = new EchoClient(other);
  const failure = await second.failure({ deadlineMs: DEADLINE_MS });
  process.stdout.write(JSON.stringify({ calls: answers.length, failure, lines }));
  client.close();
  second.close();
}

main(process.argv[2] ?? '', process.argv[3] ?? '').catch((error: unknown) => {
  process.stderr.write(String(error));
  process.exitCode = 1;
});
