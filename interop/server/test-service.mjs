import { Metadata } from '@grpc/grpc-js';
import { testing } from '../lib/test-protos.mjs';
import { planRpc } from './rpc-behavior.mjs';

/** Adds the service that is called by test clients. */
export const addTestService = (server, { host_name_override: hostname, server_id }) => {
  /** Names the server, and does to a call what its headers ask for before it is answered. */
  const behaving = (call, answer, fail) => {
    const [attempts = '0'] = call.metadata.get('grpc-previous-rpc-attempts');
    const previousAttempts = Number(attempts);
    const plan = planRpc(call.metadata.get('rpc-behavior'), { hostname, previousAttempts });
    const proceed = () => {
      if (call.cancelled || plan.keepOpen) return;
      if (plan.code !== 0) {
        // Without headers: an attempt that has sent any is not retried.
        fail({ code: plan.code, details: plan.details });
        return;
      }
      const headers = new Metadata();
      headers.set('hostname', hostname);
      call.sendMetadata(headers);
      answer();
    };
    if (plan.sleepMs > 0) setTimeout(proceed, plan.sleepMs);
    else proceed();
  };

  server.addService(testing.TestService.service, {
    EmptyCall: (call, callback) => behaving(call, () => callback(null, {}), callback),
    UnaryCall: (call, callback) => {
      const { response_status: asked, response_size: size, fill_server_id: fillId } = call.request;
      const answer = () => {
        if (asked !== null && asked.code !== 0) {
          callback({ code: asked.code, details: asked.message });
          return;
        }
        const payload = size > 0 ? { body: Buffer.alloc(size) } : null;
        callback(null, { hostname, payload, server_id: fillId ? server_id : '' });
      };
      behaving(call, answer, callback);
    },
    FullDuplexCall: (call) => {
      behaving(
        call,
        () => {
          call.on('data', ({ response_parameters: wanted, response_status: asked }) => {
            for (const { size } of wanted) call.write({ payload: { body: Buffer.alloc(size) } });
            if (asked === null || asked.code === 0) return;
            call.emit('error', { code: asked.code, details: asked.message });
          });
          call.on('end', () => call.end());
        },
        (error) => call.emit('error', error),
      );
    },
  });
};
