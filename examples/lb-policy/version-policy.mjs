// A load-balancing policy of one's own: calls that ask for a version go to endpoints of that version, which the
// control plane says in their metadata; all other calls take turns among all endpoints.

const METADATA = 'acme.deployment';

/** The version of an endpoint, as the control plane has it; `undefined` if it does not say. */
function versionOf({ endpoint }) {
  const version = endpoint.metadata.filterMetadata.get(METADATA)?.version;
  return typeof version === 'string' ? version : undefined;
}

function parseConfig({ kind, json }) {
  // There is no `messageType`, so it can only be JSON.
  if (kind !== 'json') throw new Error('must be JSON');
  const { header = 'x-version' } = json;
  if (typeof header !== 'string' || header === '') throw new Error('header: must be a name');
  return { header };
}

/** Takes turns among connections. */
class Turns {
  #next;

  constructor(connections, random) {
    this.connections = connections;
    // From anywhere: or else all clients would begin with the same endpoint.
    this.#next = Math.floor(random() * connections.length);
  }

  take() {
    return this.connections[this.#next++ % this.connections.length];
  }
}

/** All a pick needs, put in order when connections change: picks only look it up. */
class VersionPicker {
  #header;
  #all;
  #byVersion = new Map();
  #versions;

  constructor(header, all, random) {
    const ready = all.filter(({ state }) => state === 'ready');
    this.#header = header;
    this.#all = new Turns(ready, random);
    this.#versions = new Set(all.map(versionOf));
    for (const version of this.#versions) {
      const connections = ready.filter((connection) => versionOf(connection) === version);
      if (connections.length > 0) this.#byVersion.set(version, new Turns(connections, random));
    }
  }

  pick(call) {
    const [version] = call.header(this.#header);
    if (version === undefined) return this.#all.take();
    // Fails this call, with UNAVAILABLE and the reason.
    if (!this.#versions.has(version)) throw new Error(`there is no version ${version}`);
    // While none of that version is up, the call waits.
    return this.#byVersion.get(version)?.take();
  }
}

class VersionPolicy {
  #host;
  #config;
  #connections = [];

  constructor(host) {
    this.#host = host;
  }

  update({ config, localities }) {
    this.#config = config;
    this.#connections = localities.flatMap(({ connections }) => connections);
    for (const connection of this.#connections) connection.connect();
    this.#publish();
  }

  onConnectionChanged(connection) {
    // Lost: get it back. One that could not be made is tried again by itself.
    if (connection.state === 'idle') connection.connect();
    this.#publish();
  }

  #publish() {
    const connections = this.#connections;
    if (connections.some(({ state }) => state === 'ready')) {
      const random = () => this.#host.random();
      const picker = new VersionPicker(this.#config.header, connections, random);
      this.#host.publish({ kind: 'ready', picker });
    } else if (connections.every(({ state }) => state === 'failed')) {
      this.#host.publish({ kind: 'failed', reason: connections.at(-1)?.error ?? 'no connection' });
    } else {
      this.#host.publish({ kind: 'connecting' });
    }
  }
}

/** For `registerLbPolicy`, and for the tests of it. */
export const versionPolicy = {
  name: 'acme.v1.ByVersion',
  parseConfig,
  create: (host) => new VersionPolicy(host),
};
