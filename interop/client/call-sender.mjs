import { credentials, Metadata, status } from '@grpc/grpc-js';
import { createXdsChannelCredentials } from 'grpc-xds';
import { testing } from '../lib/test-protos.mjs';
import { AccumulatedStats, CallWatchers } from './call-stats.mjs';

/** Calls per second are kept by counting, so a late timer makes no difference. After a long pause, not all are made up for. */
const TICK_MS = 10;

/** Sends calls at a constant rate on several channels. */
export class CallSender {
  accumulated = new AccumulatedStats();
  watchers = new CallWatchers();
  #flags;
  #clients;
  #methods;
  #metadata;
  #timeoutSec;
  #anySucceeded = false;

  constructor(flags) {
    this.#flags = flags;
    const insecure = credentials.createInsecure();
    const channelCredentials = flags.secure_mode ? createXdsChannelCredentials(insecure) : insecure;
    this.#clients = Array.from(
      { length: flags.num_channels },
      () =>
        new testing.TestService(flags.server, channelCredentials, {
          'grpc.use_local_subchannel_pool': 1,
        }),
    );
    this.configure({ methods: flags.rpc, headers: flags.metadata, timeoutSec: 0 });
  }

  /** Changes what is sent from now on. A timeout of 0 stands for that of the command line. */
  configure({ methods, headers, timeoutSec }) {
    this.#methods = [...methods];
    this.#timeoutSec = timeoutSec === 0 ? this.#flags.rpc_timeout_sec : timeoutSec;
    this.#metadata = new Map(this.#methods.map((method) => [method, new Metadata()]));
    for (const { method, key, value } of headers) this.#metadata.get(method)?.add(key, value);
  }

  start() {
    const { qps } = this.#flags;
    let dueSince = performance.now();
    setInterval(() => {
      const now = performance.now();
      const due = Math.floor(((now - dueSince) * qps) / 1000);
      if (due === 0) return;
      dueSince += (due * 1000) / qps;
      for (let i = 0; i < Math.min(due, qps); i++) this.#sendRound();
    }, TICK_MS);
  }

  #sendRound() {
    for (const client of this.#clients) {
      for (const method of this.#methods) this.#send(client, method);
    }
  }

  #send(client, method) {
    this.accumulated.onStarted(method);
    const tellWatchers = this.watchers.onStarted();
    const seen = { method, headers: undefined, trailers: undefined };
    let answer;
    const options = { deadline: Date.now() + this.#timeoutSec * 1000 };
    const call = client[method](
      this.#requestOf(method),
      this.#metadata.get(method),
      options,
      (_error, response) => (answer = response),
    );
    call.on('metadata', (headers) => (seen.headers = headers));
    // The last that is heard of a call, after the answer.
    call.on('status', ({ code, details, metadata }) => {
      this.accumulated.onEnded(method, code);
      // The answer comes by a callback that follows.
      setImmediate(() => {
        const peer = code === status.OK ? peerOf(seen.headers, answer) : undefined;
        tellWatchers({ ...seen, trailers: metadata, peer });
        this.#report({ method, code, details, peer, bytes: answer?.payload?.body.length ?? 0 });
      });
    });
  }

  #requestOf(method) {
    if (method === 'EmptyCall') return {};
    const { request_payload_size: size, response_payload_size: response_size } = this.#flags;
    return { response_size, ...(size > 0 && { payload: { body: Buffer.alloc(size, '0') } }) };
  }

  #report({ method, code, details, peer, bytes }) {
    if (this.#flags.print_response) {
      console.log(
        code === status.OK
          ? `${method} answered by ${peer ?? 'a server without a name'} with ${bytes} bytes`
          : `${method} failed: ${status[code]}: ${details}`,
      );
    }
    if (code === status.OK) {
      this.#anySucceeded = true;
    } else if (this.#flags.fail_on_failed_rpcs || this.#flags.fail_on_failed_rpc) {
      if (!this.#anySucceeded) return;
      console.error(`A call failed after one had succeeded: ${status[code]}: ${details}`);
      process.exit(1);
    }
  }
}

/** Who answered: the header says so, or else the answer. */
const peerOf = (headers, answer) => {
  const [named] = headers?.get('hostname') ?? [];
  if (named !== undefined) return String(named);
  return answer?.hostname === '' ? undefined : answer?.hostname;
};
