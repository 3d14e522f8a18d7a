// A client of nice-grpc, which passes the target on to grpc-js. Methods of @grpc/proto-loader keep their names.
import { fileURLToPath } from 'node:url';
import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';
import { register } from 'grpc-xds';
import { createChannel, createClient } from 'nice-grpc';
import { callBothBackends } from '../echo/both-backends.mjs';

register();

const proto = fileURLToPath(new URL('../echo/echo.proto', import.meta.url));
const { echo } = grpc.loadPackageDefinition(protoLoader.loadSync(proto));
const channel = createChannel('xds:///echo');
const client = createClient(echo.Echo.service, channel);

console.log(await callBothBackends(async () => (await client.Say({ text: 'hello' })).backend));
channel.close();
