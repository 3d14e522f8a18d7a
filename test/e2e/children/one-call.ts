// Makes one call, or fails to, closes the channel and has nothing else to do: the process must end by itself.
import { register } from '../../../src';
import { EchoClient } from '../../support/echo-backend';

register();
const client = new EchoClient(process.argv[2] ?? '');
client
  .say({ deadlineMs: 5000 })
  .then(
    (answer) => process.stdout.write(`answer ${answer}`),
    (error: Error) => process.stdout.write(`error ${error.message}`),
  )
  .finally(() => client.close());
