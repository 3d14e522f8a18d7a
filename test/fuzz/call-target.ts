import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import type { XdsConfig } from '../../src/dependency-manager/xds-config';
import { Metadata } from '../../src/grpc-js';
import type { XxHash64 } from '../../src/util/hashes';
import { HttpFilterRegistry } from '../../src/http-filters/registry';
import { routerFilter } from '../../src/http-filters/router/router-filter';
import { StatefulSessionConfig } from '../../src/http-filters/stateful-session/session-parser';
import { createStatefulSessionFilter } from '../../src/http-filters/stateful-session/stateful-session-filter';
import { callAttributes } from '../../src/lb/call-attributes';
import { encodeJson } from '../../src/wire/proto-json/encode-json';
import { isJsonObject } from '../../src/wire/proto-json/json-object';
import { MatchMeter } from '../../src/resources/matching/match-meter';
import { Re2Compiler } from '../../src/resources/matching/re2-compiler';
import type { XdsConfigSelector } from '../../src/resolver/config-selector';
import { createResourceTypes, type ResourceTypes } from '../../src/resources/resource-types';
import { createHandle } from '../../src/util/handle';
import { silentLogger } from '../../src/util/logger';
import type { Random } from '../../src/util/random';
import { decodeWhole, type ResourceType } from '../../src/xds-client/resource-type';
import { extensions, serverWith } from '../resources/decode-json';
import { clusterRefs, routingChannel, selectorOf, tableOf } from '../support/routed-calls';
import { expectedHash, expectedSession } from './call-reference';
import { CallSamples, parseCall, type SampleCall } from './call-samples';
import type { JsonMutations } from './json-mutations';
import type { FuzzTarget } from './targets';

const CHANNEL_ID = 7;
/** What a call without a hash has with a draw of a half. */
const RANDOM_HASH = ((2n ** 31n) << 32n) | (2n ** 31n);
const PICKED = ['10.9.9.9:9', '[::1]:9'];
const ADDRESS = /^[\d.[\]:A-Fa-f]+:\d+$/;

/** What the target works with. */
export interface CallTargetOptions {
  readonly random: Random;
  readonly json: JsonMutations;
  /** Ready. */
  readonly hash: XxHash64;
}

/** Calls with hostile headers through a config selector with hash policies and sessions (gRFCs A42, A55, A60). */
export function createCallTarget({ random, json, hash }: CallTargetOptions): FuzzTarget {
  const samples = new CallSamples(random, json);
  const filters = new HttpFilterRegistry([
    createStatefulSessionFilter({ logger: tracingLogger }),
    routerFilter,
  ]);
  return {
    name: 'hashes and sessions of calls',
    share: 2,
    maxMsPerKiB: 10,
    make: () => samples.make(),
    run(input) {
      const [routes = '', listener = '', ...calls] = Buffer.from(input).toString().split('\n');
      const meter = new MatchMeter(DEFAULT_LIMITS, silentLogger);
      const regexes = new Re2Compiler(DEFAULT_LIMITS, meter);
      const types = createResourceTypes({ ...extensions, regexes, httpFilters: filters });
      const config = createConfig(types, routes, listener);
      if (config === undefined) return undefined;
      const scene = new CallScene(config, { filters, hash, meter });
      for (const call of calls) {
        const problem = scene.check(parseCall(call));
        if (problem !== undefined) return `${problem} (${call.slice(0, 500)})`;
      }
      return scene.finish();
    },
  };
}

/** Makes every text for the log, so that an error in one of them is found. */
const tracingLogger = { ...silentLogger, trace: (_: string, text: () => string) => void text() };

/** `undefined` if the resources are not valid. */
function createConfig(
  types: ResourceTypes,
  routes: string,
  listenerJson: string,
): XdsConfig | undefined {
  const routeConfig = decode(types.routeConfig, routes);
  const listener = decode(types.listener, listenerJson);
  const virtualHost = routeConfig?.virtualHosts[0];
  if (virtualHost === undefined || listener?.kind !== 'api') return undefined;
  return {
    listener,
    routeConfig: { name: 'r', virtualHosts: [virtualHost] },
    virtualHost,
    clusters: new Map(),
  };
}

function decode<T>(type: ResourceType<T>, json: string): T | undefined {
  const messageName = type.typeUrl.slice(type.typeUrl.indexOf('/') + 1);
  const value = parseJson(json);
  const bytes = isJsonObject(value) ? encodeJson(messageName, value) : undefined;
  if (bytes?.ok !== true) return undefined;
  const { result } = decodeWhole(type, bytes.value, {
    server: serverWith(),
    previous: () => undefined,
  });
  return result.ok ? result.value : undefined;
}

/** `undefined` if it is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A selector, and what each call should come to. */
class CallScene {
  private held = 0;
  private readonly selector: XdsConfigSelector;

  constructor(
    private readonly config: XdsConfig,
    private readonly parts: {
      readonly filters: HttpFilterRegistry;
      readonly hash: XxHash64;
      readonly meter: MatchMeter;
    },
  ) {
    const refs = clusterRefs(() => {
      this.held++;
      return createHandle(() => this.held--);
    });
    const hash = (text: string) => parts.hash.hash(text);
    const channel = routingChannel({ hash, meter: parts.meter });
    this.selector = selectorOf(tableOf(config, parts.filters, refs), channel);
  }

  check({ method, headers }: SampleCall): string | undefined {
    const metadata = toMetadata(headers);
    return this.checkHash(method, metadata) ?? this.checkSession(method, metadata);
  }

  /** Ends everything. */
  finish(): string | undefined {
    this.selector.unref();
    return this.held === 0 ? undefined : `${this.held} clusters are still held`;
  }

  private invoke(method: string, metadata: Metadata) {
    const call = this.selector.invoke(method, metadata, CHANNEL_ID);
    const attributes = callAttributes({ metadata, extraPickInfo: call.pickInformation });
    return { call, attributes };
  }

  private checkHash(method: string, metadata: Metadata): string | undefined {
    const { call, attributes } = this.invoke(method, metadata);
    const found = attributes?.requestHash?.();
    call.onCommitted?.();
    const action = this.config.virtualHost.routes[0]?.action;
    if (action?.kind !== 'forward' || this.parts.meter.exceeded !== undefined) return undefined;
    const hash = (text: string) => this.parts.hash.hash(text);
    const expected = expectedHash(action.hashPolicies, metadata, { channelId: CHANNEL_ID, hash });
    return found === (expected ?? RANDOM_HASH)
      ? undefined
      : `the hash is ${found}, not ${expected}`;
  }

  private checkSession(method: string, metadata: Metadata): string | undefined {
    const { call, attributes } = this.invoke(method, metadata);
    // A call without a route, or whose route does not forward, has neither cluster nor session: its picks fail.
    if (attributes === undefined || attributes.cluster === '') return undefined;
    const { cluster, overrideHost } = attributes;
    const problem = this.compareSession(method, metadata, {
      cluster,
      addresses: overrideHost?.addresses,
    });
    overrideHost?.onPicked(PICKED);
    const response = new Metadata();
    for (const factory of call.dynamicFilterFactories) {
      factory.createFilter().receiveMetadata(response);
    }
    call.onCommitted?.();
    if (problem !== undefined || overrideHost === undefined) return problem;
    return this.checkCookie(method, response.get('set-cookie').join(), cluster);
  }

  private compareSession(
    method: string,
    metadata: Metadata,
    found: { readonly cluster: string; readonly addresses: readonly string[] | undefined },
  ): string | undefined {
    const cookie = this.cookie();
    const expected = cookie && expectedSession(cookie, method, metadata);
    const { addresses, cluster } = found;
    if (expected === undefined || expected === 'foreign') {
      return addresses === undefined ? undefined : 'a call of no session asks for a host';
    }
    if (addresses?.every((address) => ADDRESS.test(address)) !== true) return 'not an address';
    const clusters = this.clusterNames();
    if (!clusters.includes(cluster)) return `goes to ${cluster}`;
    if (expected === 'malformed') return undefined;
    const wanted = expected === 'none' ? [] : expected.addresses;
    if (addresses.join() !== wanted.join())
      return `asks for ${addresses.join()}, not ${wanted.join()}`;
    const isKnown = expected !== 'none' && clusters.includes(expected.cluster);
    return !isKnown || cluster === expected.cluster ? undefined : `goes to ${cluster}`;
  }

  /** The application sends along the cookie that it got, and comes back to the same endpoint. */
  private checkCookie(method: string, setCookie: string, cluster: string): string | undefined {
    const metadata = new Metadata();
    metadata.set('cookie', setCookie.split(';')[0] ?? '');
    const { call, attributes } = this.invoke(method, metadata);
    call.onCommitted?.();
    const isSame = String(attributes?.overrideHost?.addresses) === String(PICKED);
    return isSame && attributes?.cluster === cluster ? undefined : `does not stay: ${setCookie}`;
  }

  /** The clusters of the route, as the cluster manager names them. */
  private clusterNames(): readonly string[] {
    const action = this.config.virtualHost.routes[0]?.action;
    if (action?.kind !== 'forward') return [];
    const { clusters } = action;
    const names = clusters.kind !== 'weighted' ? [clusters] : clusters.clusters;
    return names.map(({ name }) => `cluster:${name}`);
  }

  private cookie() {
    const config = this.config.listener.httpConnectionManager.httpFilters[0]?.config;
    return config instanceof StatefulSessionConfig ? config.cookie : undefined;
  }
}

/** What the host library refuses cannot be in the headers of a call. */
function toMetadata(headers: SampleCall['headers']): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of headers) {
    try {
      metadata.add(name, name.endsWith('-bin') ? Buffer.from(value, 'latin1') : value);
    } catch {
      continue;
    }
  }
  return metadata;
}
