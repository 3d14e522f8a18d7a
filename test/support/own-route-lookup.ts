// The side of this package in comparisons of rls: a policy whose lookup service answers by the keys alone, and whose children name
// their target in the status of the call, as those in interop/go/route_lookup.go.

import { ConnectivityState, credentials, Metadata } from '../../src/grpc-js';
import { createFailurePicker } from '../../src/lb/connectivity';
import type { LbConfig } from '../../src/resources/extension-points';
import { LbPolicyRegistry } from '../../src/lb/registry/lb-policy-registry';
import type { LbPolicyType } from '../../src/lb/lb-policy';
import { createRlsPolicyType, type LookupChannel } from '../../src/lb/rls/balancer';
import type { Lookup, LookupResult } from '../../src/lb/rls/control-channel';
import { FakeLbHost } from '../../src/testing/fake-lb-host';
import { describePick, LbHarness, pick, singleLocality } from '../../src/testing/lb-harness';
import { err, ok } from '../../src/util/result';
import { Violations } from '../../src/util/violations';
import type { LookupRequestSample } from './route-lookup-samples';

/** What becomes of a call. The target is empty if its lookup has failed and there is no default target. */
interface LookupOutcome {
  readonly lookups: readonly object[];
  readonly target: string;
}

class NamedTarget implements LbConfig {
  readonly policyName = 'named_target';

  constructor(readonly target: string) {}
}

const namedTargets: LbPolicyType<NamedTarget> = {
  name: 'named_target',
  parseConfig: (json) => new NamedTarget(String(Reflect.get(json as object, 'Target'))),
  create: (host) => ({
    update({ target }) {
      const { READY, TRANSIENT_FAILURE } = ConnectivityState;
      const state = target.startsWith('down') ? TRANSIENT_FAILURE : READY;
      host.updateState(state, createFailurePicker(`target:${target}`), null);
    },
    exitIdle() {},
    resetBackoff() {},
    destroy() {},
  }),
};

function answer(keys: ReadonlyMap<string, string>): LookupResult {
  let sum = 0;
  for (const byte of Buffer.from([...keys].flat().join(''))) sum += byte;
  const one = `t${sum}`;
  const respond = (...targets: string[]) => ok({ targets, headerData: '' });
  switch (sum % 7) {
    case 1:
      return err('NOT_FOUND: refused');
    case 2:
      return err('the response has no targets');
    case 3:
      return respond('down-1', one);
    case 4:
      return respond('down-1', 'down-2');
    default:
      return respond(one, 'other');
  }
}

/** Sends the calls one after the other. @returns what becomes of each, or why the config is not valid. */
export function routeLookupsOf(
  json: object,
  requests: readonly LookupRequestSample[],
): { readonly rejected: string } | { readonly outcomes: readonly LookupOutcome[] } {
  const harness = new LbHarness();
  harness.random = 0.999_999;
  let lookups: object[] = [];
  const channel: LookupChannel = {
    lookUp({ keys }: Lookup, onResult) {
      lookups.push(Object.fromEntries(keys));
      const result = answer(keys);
      onResult(result, result.ok);
    },
    close() {},
  };
  const type = createRlsPolicyType(() => ok(channel));
  const registry = new LbPolicyRegistry({ policies: [namedTargets, type] });
  const violations = Violations.root();
  const config = registry.fromJson([{ [type.name]: json }], violations);
  if (config === undefined) return { rejected: violations.all.join('; ') };
  const own = { nodeId: 'n', target: 'xds:///echo.test:50051', authority: 'echo.test:50051' };
  const host = new FakeLbHost({ ...harness.environment, policies: registry, channel: own });
  const create = host.createSubchannel;
  const shown = { credentials: credentials.createInsecure() };
  host.createSubchannel = (...args) => Object.assign(create(...args), { channel: shown });
  const update = harness.completeUpdate({ config, endpoints: ok(singleLocality('10.0.0.1:80')) });
  const policy = registry.get(type.name)?.create(host);
  harness.batch.run(() => policy?.update(config, update.endpoints, update.context));
  const outcomes = requests.map(({ method, headers }) => {
    lookups = [];
    const metadata = new Metadata();
    for (const [name, values] of Object.entries(headers))
      for (const value of values) metadata.add(name, value);
    const tryOnce = () => {
      const picker = host.published.at(-1)?.picker;
      if (picker === undefined) throw new Error('Nothing was published');
      const result = describePick(pick(picker, { cluster: 'c', method }, metadata));
      harness.clock.flush();
      return result;
    };
    const first = tryOnce();
    // A call that is queued is picked for again when there is a result.
    const described = first === 'QUEUE' ? tryOnce() : first;
    const [, target] = /target:(.*)/.exec(described) ?? [];
    if (target === undefined && !described.includes('Route lookup service'))
      throw new Error(`unexpected pick: ${described}`);
    return { lookups, target: target ?? '' };
  });
  policy?.destroy();
  return { outcomes };
}
