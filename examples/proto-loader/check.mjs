// A client of @grpc/proto-loader: an xds: target in place of an address is all that changes.
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';
import { register } from 'grpc-xds';
import { callBothBackends } from '../echo/both-backends.mjs';

register();

const proto = fileURLToPath(new URL('../echo/echo.proto', import.meta.url));
const { echo } = grpc.loadPackageDefinition(protoLoader.loadSync(proto));
const client = new echo.Echo('xds:///echo', grpc.credentials.createInsecure());
const say = promisify(client.say).bind(client);

console.log(await callBothBackends(async () => (await say({ text: 'hello' })).backend));
client.close();
