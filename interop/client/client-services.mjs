import { testing } from '../lib/test-protos.mjs';
import { RPC_TYPES } from './client-flags.mjs';

const methodOf = (type) => [...RPC_TYPES].find(([, name]) => name === type)[0];

/** Adds the services that the tests direct the client by. */
export const addClientServices = (server, sender) => {
  server.addService(testing.LoadBalancerStatsService.service, {
    GetClientStats: ({ request }, callback) =>
      void sender.watchers.wait(request).then((answer) => callback(null, answer)),
    GetClientAccumulatedStats: (_call, callback) => callback(null, sender.accumulated.describe()),
  });
  server.addService(testing.XdsUpdateClientConfigureService.service, {
    Configure: ({ request }, callback) => {
      sender.configure({
        methods: request.types.map(methodOf),
        headers: request.metadata.map(({ type, key, value }) => ({
          method: methodOf(type),
          key,
          value,
        })),
        timeoutSec: request.timeout_sec,
      });
      callback(null, {});
    },
  });
};
