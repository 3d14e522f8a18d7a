// Times picks: a policy gets endpoints whose connections come up at once and never do anything, and is asked for as many
// picks as it takes. Answers the case it is asked for with the
// nanoseconds of CPU per pick in each of some rounds.
const grpc = require('@grpc/grpc-js');

const variant = process.argv[2];
const isOurs = variant === 'grpc-xds';
require(isOurs ? '../../dist/index.js' : variant).register();
const { READY, IDLE, CONNECTING } = grpc.connectivityState;
const { ChildLoadBalancerHandler, PickResultType, parseLoadBalancingConfig } = grpc.experimental;

const ROUNDS = 15;
const PICKS_PER_ROUND = 100_000;
const HASHES = 8192;

/** A subchannel that is connected as soon as somebody wants it to be. */
class Subchannel {
  constructor(address) {
    this.address = address;
    this.state = IDLE;
    this.listeners = new Set();
  }
  move(state) {
    const previous = this.state;
    this.state = state;
    for (const listener of [...this.listeners]) listener(this, previous, state, -1);
  }
  startConnecting() {
    if (this.state !== IDLE) return;
    this.move(CONNECTING);
    setImmediate(() => this.move(READY));
  }
  getConnectivityState() {
    return this.state;
  }
  addConnectivityStateListener(listener) {
    this.listeners.add(listener);
  }
  removeConnectivityStateListener(listener) {
    this.listeners.delete(listener);
  }
  getAddress() {
    return `${this.address.host}:${this.address.port}`;
  }
  getRealSubchannel() {
    return this;
  }
  realSubchannelEquals(other) {
    return other === this;
  }
  getChannelzRef() {
    return { kind: 'subchannel', id: 0, name: '' };
  }
  isHealthy() {
    return true;
  }
  ref() {}
  unref() {}
  throttleKeepalive() {}
  addHealthStateWatcher() {}
  removeHealthStateWatcher() {}
  addDataWatcher() {}
}

/** The config of a policy. Where grpc-js has one of the same name, ours is the child of one that hands up its picker. */
function configOf(policy, size) {
  const child = { [policy]: {} };
  if (!isOurs || policy.startsWith('ring_hash')) return child;
  return { random_subsetting_experimental: { subsetSize: size, childPolicy: [child] } };
}

/** Some thousand calls, with random hashes in the form the variant's resolver gives them. */
function makeCalls() {
  return Array.from({ length: HASHES }, () => {
    const high = BigInt(Math.floor(Math.random() * 2 ** 32));
    const hash = (high << 32n) | BigInt(Math.floor(Math.random() * 2 ** 32));
    const extraPickInfo = isOurs
      ? { cluster: 'c', requestHash: () => hash }
      : { hash: hash.toString() };
    return { metadata: new grpc.Metadata(), extraPickInfo };
  });
}

async function startPolicy(policy, size) {
  let picker;
  const handler = new ChildLoadBalancerHandler({
    createSubchannel: (address) => new Subchannel(address),
    updateState: (_state, latest) => (picker = latest),
    requestReresolution: () => {},
    addChannelzChild: () => {},
    removeChannelzChild: () => {},
  });
  const value = Array.from({ length: size }, (_, i) => ({
    addresses: [{ host: `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`, port: 80 }],
  }));
  const config = parseLoadBalancingConfig(configOf(policy, size));
  handler.updateAddressList({ ok: true, value }, config, {}, '');
  return { handler, picker: () => picker };
}

/** Picks until every place that is picked is connected. */
async function connect(calls, picker) {
  for (let idle = 0; idle < 3;) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const all = calls.every(
      (args) => picker()?.pick(args).pickResultType === PickResultType.COMPLETE,
    );
    idle = all ? idle + 1 : 0;
  }
}

async function measure({ policy, size }) {
  const calls = makeCalls();
  const { handler, picker } = await startPolicy(policy, size);
  await connect(calls, picker);
  const times = [];
  let failed = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const latest = picker();
    const before = process.cpuUsage();
    for (let i = 0; i < PICKS_PER_ROUND; i++) {
      if (latest.pick(calls[i & (HASHES - 1)]).subchannel === null) failed++;
    }
    const { user, system } = process.cpuUsage(before);
    times.push(((user + system) * 1000) / PICKS_PER_ROUND);
  }
  handler.destroy();
  if (failed > 0) throw new Error(`${failed} picks of ${policy} found nothing`);
  return times;
}

process.on('message', async (question) => process.send(await measure(question)));
process.send('ready');
