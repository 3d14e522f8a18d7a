import { Server, status } from '@grpc/grpc-js';
import { listen, wildcard } from '../lib/serving.mjs';
import { testing } from '../lib/test-protos.mjs';

/** What is asked before a pod is stopped: it answers when a test says so, and the pod lives until then. */
class Hook {
  #waiting = [];
  #outcome;

  wait(callback) {
    if (this.#outcome === undefined) this.#waiting.push(callback);
    else answerWith(callback, this.#outcome);
  }

  /** Answers whoever waits. */
  release(outcome) {
    for (const callback of this.#waiting.splice(0)) answerWith(callback, outcome);
  }

  /** Answers whoever waits and whoever will come. */
  setOutcome(outcome) {
    this.#outcome = outcome;
    this.release(outcome);
  }

  clearOutcome() {
    this.#outcome = undefined;
  }
}

const answerWith = (callback, { grpc_code_to_return: code, grpc_status_description: details }) =>
  code === status.OK ? callback(null, {}) : callback({ code, details });

const addHookService = (server, hook) =>
  server.addService(testing.HookService.service, {
    Hook: (_call, callback) => hook.wait(callback),
    SetReturnStatus: ({ request }, callback) => {
      hook.setOutcome(request);
      callback(null, {});
    },
    ClearReturnStatus: (_call, callback) => {
      hook.clearOutcome();
      callback(null, {});
    },
  });

/** Adds the services by which tests direct the server. */
export const addMaintenanceServices = (server, health) => {
  const hook = new Hook();
  let hookServer;
  const stopHook = () => {
    hookServer?.forceShutdown();
    hookServer = undefined;
  };
  const commands = {
    START: async ({ server_port: port }) => {
      stopHook();
      hookServer = new Server();
      addHookService(hookServer, hook);
      await listen(hookServer, `${await wildcard()}:${port}`);
    },
    STOP: stopHook,
    RETURN: (request) => hook.release(request),
  };
  const setHealth = (to) => (_call, callback) => {
    health.setStatus('', to);
    callback(null, {});
  };
  addHookService(server, hook);
  server.addService(testing.XdsUpdateHealthService.service, {
    SetServing: setHealth('SERVING'),
    SetNotServing: setHealth('NOT_SERVING'),
    SendHookRequest: async ({ request }, callback) => {
      const carryOut = commands[request.command];
      if (carryOut === undefined) {
        callback({
          code: status.INVALID_ARGUMENT,
          details: 'command: must be START, STOP or RETURN',
        });
        return;
      }
      try {
        await carryOut(request);
        callback(null, {});
      } catch (error) {
        callback({ code: status.INTERNAL, details: error.message });
      }
    },
  });
};
