// A client for the examples with several threads or processes, each of which registers for itself.
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { callBothBackends } from './both-backends.mjs';

/** @param packages Those of the example, which are found from its folder only. */
export async function callFromHere({ grpc, protoLoader, register, shutdown }) {
  register();
  const proto = fileURLToPath(new URL('echo.proto', import.meta.url));
  const { echo } = grpc.loadPackageDefinition(protoLoader.loadSync(proto));
  const client = new echo.Echo('xds:///echo', grpc.credentials.createInsecure());
  const say = promisify(client.say).bind(client);
  const names = await callBothBackends(async () => (await say({ text: 'hello' })).backend);
  client.close();
  await shutdown();
  return names;
}
