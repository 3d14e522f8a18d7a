import {
  Client,
  credentials,
  getChannelzServiceDefinition,
  makeGenericClientConstructor,
} from '@grpc/grpc-js';
import { RPC_TYPES } from '../client/client-flags.mjs';
import { testing } from '../lib/test-protos.mjs';
import { csdsService } from './csds.mjs';
import { Child, freePort } from './children.mjs';
import { pollUntil, untilReady } from './waiting.mjs';

const ask = (client, method, request = {}) =>
  new Promise((resolve, reject) => {
    client[method](request, { deadline: Date.now() + 120_000 }, (error, answer) =>
      error === null ? resolve(answer) : reject(error),
    );
  });

const ChannelzClient = makeGenericClientConstructor(getChannelzServiceDefinition(), 'Channelz');

/** An interop client at work, whatever language it is written in, and what it tells of itself. */
export class TestClient {
  #child;
  #services;
  /** Settled when the last question about calls to come is answered. */
  #lastStats = Promise.resolve();

  constructor(child, address) {
    this.#child = child;
    const insecure = credentials.createInsecure();
    this.#services = {
      stats: new testing.LoadBalancerStatsService(address, insecure),
      configure: new testing.XdsUpdateClientConfigureService(address, insecure),
      csds: new csdsService(address, insecure),
      channelz: new ChannelzClient(address, insecure),
    };
  }

  /**
   * @param command The program and its first arguments.
   * @param flags By name, such as `{ qps: 100 }`.
   * @param env Environment variables, the bootstrap among them.
   */
  static async start(command, flags, env) {
    const port = await freePort();
    const args = Object.entries({ ...flags, stats_port: port }).map(([k, v]) => `--${k}=${v}`);
    const child = new Child(command, args, env);
    const client = new TestClient(child, `127.0.0.1:${port}`);
    await untilReady(client.#services.stats, child);
    return client;
  }

  /** The exit code, when the program has ended. */
  get ended() {
    return this.#child.ended;
  }

  /** What the program wrote last. */
  get output() {
    return this.#child.output;
  }

  /**
   * What becomes of the next calls. Asked one at a time: clients of some languages take two questions that begin with
   * the same call for one, and answer but one of them.
   */
  stats(count = 100, options = {}) {
    const answer = this.#lastStats.then(() => this.#askStats(count, options));
    this.#lastStats = answer.catch(() => {});
    return answer;
  }

  async #askStats(count, { metadataKeys = [], timeoutSec = 60 }) {
    const request = { num_rpcs: count, timeout_sec: timeoutSec, metadata_keys: metadataKeys };
    const answer = await ask(this.#services.stats, 'GetClientStats', request);
    const byMethod = Object.entries(answer.rpcs_by_method).map(([method, { rpcs_by_peer }]) => [
      method,
      new Map(Object.entries(rpcs_by_peer)),
    ]);
    return {
      byPeer: new Map(Object.entries(answer.rpcs_by_peer)),
      byMethod: new Map(byMethod),
      failures: answer.num_failures,
      metadata: Object.entries(answer.metadatas_by_peer).flatMap(
        ([peer, { rpc_metadata: calls }]) => calls.map(({ metadata }) => ({ peer, metadata })),
      ),
    };
  }

  /** Asks what becomes of the next calls until it is as wanted or the time is over; returns the last answer. */
  statsUntil(isWanted, count = 100, options = {}) {
    return pollUntil(() => this.stats(count), isWanted, options);
  }

  /** What became of all calls of a method: how many were started, and how many ended with which status. */
  async totals(method) {
    const answer = await ask(this.#services.stats, 'GetClientAccumulatedStats');
    const { rpcs_started: started, result } = answer.stats_per_method[RPC_TYPES.get(method)];
    const codes = new Map(Object.entries(result).map(([code, count]) => [Number(code), count]));
    const ended = [...codes.values()].reduce((sum, count) => sum + count, 0);
    return { started, ended, codes, inFlight: started - ended };
  }

  /** Changes what is called; headers are `{ key, value }`, for all methods called unless one is named. */
  async configure({ methods = ['UnaryCall'], headers = [], timeoutSec = 0 }) {
    const metadata = headers.flatMap(({ method, key, value }) =>
      (method === undefined ? methods : [method]).map((name) => ({
        type: RPC_TYPES.get(name),
        key,
        value,
      })),
    );
    const types = methods.map((name) => RPC_TYPES.get(name));
    await ask(this.#services.configure, 'Configure', { types, metadata, timeout_sec: timeoutSec });
  }

  /** Waits until there is hardly a call under way, so that those that were sent before count no more. */
  untilQuiet(method = 'UnaryCall') {
    return pollUntil(
      () => this.totals(method),
      ({ inFlight }) => inFlight <= 1,
    );
  }

  /** What became of at least so many calls of a method that were started from now on: their number by status. */
  async codesOfNext(count, method = 'UnaryCall') {
    await this.stats(1);
    const before = await this.totals(method);
    const after = await pollUntil(
      () => this.totals(method),
      ({ ended }) => ended - before.ended >= count,
    );
    const since = [...after.codes].map(([code, n]) => [code, n - (before.codes.get(code) ?? 0)]);
    return new Map(since.filter(([, n]) => n > 0));
  }

  /** The configuration that it says it has: a list of clients with their resources (CSDS). */
  async config() {
    return (await ask(this.#services.csds, 'FetchClientStatus')).config;
  }

  /** States of the connections of its channels to backends, such as READY (channelz). */
  async subchannelStates(target) {
    const { channel: channels } = await ask(this.#services.channelz, 'GetTopChannels');
    const ids = channels
      .filter(({ data }) => data.target.endsWith(target))
      .flatMap(({ subchannel_ref: refs }) => refs.map(({ subchannel_id: id }) => id));
    const found = await Promise.all(
      ids.map((id) => ask(this.#services.channelz, 'GetSubchannel', { subchannel_id: id })),
    );
    return found.map(({ subchannel }) => subchannel.data.state.state);
  }

  /** Its connections to backends (channelz). */
  async sockets(target) {
    const { channel: channels } = await ask(this.#services.channelz, 'GetTopChannels');
    const found = [];
    for (const { subchannel_ref: refs } of channels.filter(({ data }) =>
      data.target.endsWith(target),
    )) {
      for (const { subchannel_id } of refs) {
        const request = { subchannel_id };
        const { subchannel } = await ask(this.#services.channelz, 'GetSubchannel', request);
        for (const { socket_id } of subchannel.socket_ref) {
          found.push((await ask(this.#services.channelz, 'GetSocket', { socket_id })).socket);
        }
      }
    }
    return found;
  }

  /** How much has ever happened to its channels: new configurations, connections made and lost (channelz). */
  async channelEvents(target) {
    const { channel: channels } = await ask(this.#services.channelz, 'GetTopChannels');
    const own = channels.filter(({ data }) => data.target.includes(target));
    return own.reduce((sum, { data }) => sum + Number(data.trace.num_events_logged), 0);
  }

  async stop() {
    for (const service of Object.values(this.#services)) Client.prototype.close.call(service);
    await this.#child.stop();
  }
}
