// The policy that the tests of custom policies name: round robin with a header.

const parseConfig = ({ kind, json }) => {
  if (kind !== 'json' || typeof json?.rpcBehavior !== 'string') {
    throw new Error('rpcBehavior: must be a string');
  }
  return { rpcBehavior: json.rpcBehavior };
};

class RpcBehaviorPolicy {
  #host;
  #connections = [];
  #behavior = '';
  #turn = 0;

  constructor(host) {
    this.#host = host;
  }

  update({ config, localities }) {
    this.#behavior = config.rpcBehavior;
    this.#connections = localities.flatMap(({ connections }) => connections);
    for (const connection of this.#connections) connection.connect();
    this.#publish();
  }

  onConnectionChanged(connection) {
    if (connection.state === 'idle') connection.connect();
    this.#publish();
  }

  #publish() {
    const ready = this.#connections.filter(({ state }) => state === 'ready');
    if (ready.length > 0) {
      this.#host.publish({ kind: 'ready', picker: this.#picker(ready, this.#behavior) });
    } else if (this.#connections.every(({ state }) => state === 'failed')) {
      this.#host.publish({ kind: 'failed', reason: this.#connections.at(-1)?.error ?? '' });
    } else {
      this.#host.publish({ kind: 'connecting' });
    }
  }

  #picker(ready, behavior) {
    return {
      pick: (call) => {
        call.setHeader('rpc-behavior', behavior);
        return ready[this.#turn++ % ready.length];
      },
    };
  }
}

/** For `registerLbPolicy`. */
export const rpcBehaviorPolicy = {
  name: 'test.RpcBehaviorLoadBalancer',
  parseConfig,
  create: (host) => new RpcBehaviorPolicy(host),
};
