// Uses a channel that is never closed and then has nothing else to do: the process must end by itself, and not before
// what the application waits for has happened.
import { register } from '../../../src';
import { EchoClient } from '../../support/echo-backend';
import { Client, credentials, Metadata } from '@grpc/grpc-js';

const [scenario = '', target = ''] = process.argv.slice(2);
/** A deadline is a timer, which keeps the process alive: without one nothing of the call itself does. */
const deadlineMs = Infinity;
/** The shortest that a channel accepts. */
const IDLE_MS = 1000;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const answer = (text: string) => print(`answer ${text}`);
const failure = (error: Error) => print(`error ${error.message}`);

function patient(): Metadata {
  return new Metadata({ waitForReady: true });
}

/** Far longer than a process with nothing to do takes to end, and shorter than a connection attempt may take. */
const LATE_MS = 10_000;

/** Prints that everything is done, and later that the process has not ended since. */
function finish(): void {
  print('done');
  setTimeout(() => print('still alive'), LATE_MS).unref();
}

/** Keeps the process alive by itself for some time. */
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const scenarios: Record<string, () => void | Promise<void>> = {
  call: () => new EchoClient(target).say({ deadlineMs }).then(answer, failure),
  'calls on many channels': async () => {
    for (let i = 0; i < 20; i++) {
      const ofItsOwn = { 'acme.test': i };
      await new EchoClient(target, ofItsOwn).say({ deadlineMs });
    }
    print('answers');
  },
  'calls for some time': async () => {
    const client = new EchoClient(target);
    await client.say({ deadlineMs }).then(answer, failure);
    await sleep(2.5 * IDLE_MS);
    await client.say({ deadlineMs }).then(answer, failure);
  },
  'call that waits': () => {
    print('waiting');
    return new EchoClient(target).say({ deadlineMs, metadata: patient() }).then(answer, failure);
  },
  'call after idleness that waits': async () => {
    const client = new EchoClient(target, { 'grpc.client_idle_timeout_ms': IDLE_MS });
    await client.say({ deadlineMs }).then(answer, failure);
    await sleep(2.5 * IDLE_MS);
    print('waiting');
    await client.say({ deadlineMs, metadata: patient() }).then(answer, failure);
  },
  'call with a deadline': async () => {
    await new EchoClient(target).failure({ deadlineMs: 1000 });
    finish();
  },
  'call with a deadline, and close': async () => {
    const client = new EchoClient(target);
    await client.failure({ deadlineMs: 1000 });
    client.close();
    finish();
  },
  connection: () => {
    const client = new Client(target, credentials.createInsecure());
    const tryToConnect = true;
    client.getChannel().getConnectivityState(tryToConnect);
    print('connecting');
  },
};

process.on('warning', ({ message }) => print(`warning ${message}`));
register();
void scenarios[scenario]?.();
