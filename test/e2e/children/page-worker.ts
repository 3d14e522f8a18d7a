// A client process as one of several workers: it calls a target of the bootstrap in its environment all the time, serves its
// live page, whose URL it prints, and writes its state on SIGUSR2. It ends when its standard input does.
import { dumpOnSignal, register, serveAdminPage } from '../../../src';
import { EchoClient } from '../../support/echo-backend';

const INTERVAL_MS = 50;
const [target = ''] = process.argv.slice(2);

async function work(): Promise<void> {
  register();
  dumpOnSignal('SIGUSR2');
  const { url } = await serveAdminPage({ port: 0 });
  const client = new EchoClient(target);
  await client.say().catch(() => undefined);
  setInterval(() => void client.say().catch(() => undefined), INTERVAL_MS);
  process.stdin.resume().on('end', () => process.exit(0));
  process.stdout.write(`${url}\n`);
}

void work();
