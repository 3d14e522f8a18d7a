import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import grpc from '@grpc/grpc-js';
import { register } from 'grpc-xds';
import { Echo } from './service.mjs';

register();
const client = new Echo(
  'xds:///echo.shop.svc.cluster.local:50051',
  grpc.credentials.createInsecure(),
);
const say = promisify(client.say).bind(client);
process.once('SIGTERM', () => process.exit());
for (let i = 1; ; i++, await sleep(1000)) console.log(await say(`hello ${i}`).catch(String));
