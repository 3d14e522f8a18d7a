// What became of the calls: of the next ones, for whoever waits for them, and of all.
import { status } from '@grpc/grpc-js';
import { RPC_TYPES } from './client-flags.mjs';

const increment = (counts, key) => (counts[key] = (counts[key] ?? 0) + 1);

/** Counts of all calls since the start of the program. */
export class AccumulatedStats {
  #methods = new Map([...RPC_TYPES.values()].map((type) => [type, { started: 0, result: {} }]));

  onStarted(method) {
    this.#methods.get(RPC_TYPES.get(method)).started++;
  }

  onEnded(method, code) {
    increment(this.#methods.get(RPC_TYPES.get(method)).result, code);
  }

  /** A `LoadBalancerAccumulatedStatsResponse`. */
  describe() {
    const of = (read) => Object.fromEntries([...this.#methods].map(([type, m]) => [type, read(m)]));
    const ended = ({ result }) => Object.values(result).reduce((sum, count) => sum + count, 0);
    const succeeded = ({ result }) => result[status.OK] ?? 0;
    return {
      num_rpcs_started_by_method: of(({ started }) => started),
      num_rpcs_succeeded_by_method: of(succeeded),
      num_rpcs_failed_by_method: of((m) => ended(m) - succeeded(m)),
      stats_per_method: of(({ started, result }) => ({ rpcs_started: started, result })),
    };
  }
}

/** Waits for a number of calls, counted from the next one to start. */
class CallWatcher {
  #toStart;
  #toEnd;
  #answer;
  #isWanted;

  constructor({ num_rpcs: count, metadata_keys: keys }, onDone) {
    this.#toStart = count;
    this.#toEnd = count;
    this.onDone = onDone;
    this.#answer = { rpcs_by_peer: {}, rpcs_by_method: {}, metadatas_by_peer: {} };
    const wanted = new Set(keys.map((key) => key.toLowerCase()));
    this.#isWanted = (key) => wanted.has('*') || wanted.has(key);
    this.wantsMetadata = wanted.size > 0;
  }

  /** @returns whether the call that starts is one of those waited for. */
  claim() {
    if (this.#toStart === 0) return false;
    this.#toStart--;
    return true;
  }

  onEnded({ method, peer, headers, trailers }) {
    if (peer !== undefined) {
      const { rpcs_by_peer: byPeer, rpcs_by_method: byMethod } = this.#answer;
      increment(byPeer, peer);
      increment((byMethod[method] ??= { rpcs_by_peer: {} }).rpcs_by_peer, peer);
      if (this.wantsMetadata) this.#addMetadata(peer, headers, trailers);
    }
    if (--this.#toEnd === 0) this.onDone();
  }

  /** A `LoadBalancerStatsResponse`. Whatever has not ended well counts as failed. */
  describe(count) {
    const succeeded = Object.values(this.#answer.rpcs_by_peer).reduce((sum, n) => sum + n, 0);
    return { ...this.#answer, num_failures: count - succeeded };
  }

  #addMetadata(peer, headers, trailers) {
    const entries = [...this.#pick(headers, 'INITIAL'), ...this.#pick(trailers, 'TRAILING')];
    const ofPeer = (this.#answer.metadatas_by_peer[peer] ??= { rpc_metadata: [] });
    ofPeer.rpc_metadata.push({ metadata: entries });
  }

  #pick(metadata, type) {
    const keys = Object.keys(metadata?.getMap() ?? {}).filter(this.#isWanted);
    return keys.flatMap((key) =>
      metadata.get(key).map((value) => ({
        key,
        value: typeof value === 'string' ? value : value.toString('base64'),
        type,
      })),
    );
  }
}

/** Those who wait for calls. */
export class CallWatchers {
  #watchers = new Set();

  /** @returns what is to be told of the end of a call that starts. */
  onStarted() {
    const concerned = [...this.#watchers].filter((watcher) => watcher.claim());
    return (ended) => concerned.forEach((watcher) => watcher.onEnded(ended));
  }

  /** Resolves with a `LoadBalancerStatsResponse` when the calls have ended or the time is over. */
  wait(request) {
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        this.#watchers.delete(watcher);
        resolve(watcher.describe(request.num_rpcs));
      };
      const watcher = new CallWatcher(request, finish);
      const timer = setTimeout(finish, request.timeout_sec * 1000);
      this.#watchers.add(watcher);
      if (request.num_rpcs === 0) finish();
    });
  }
}
