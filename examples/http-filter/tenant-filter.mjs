// An HTTP filter of one's own. The control plane says which tenants there are and in what tier each is; the
// filter tells backends the tier, refuses calls of other tenants, and counts what became of all of them.
import grpc from '@grpc/grpc-js';
import { CallFailedError } from 'grpc-xds';

/**
 * What a listener says: `{ tiers: { <tenant>: <tier> } }`.
 * @typedef {{ tiers: Map<string, string> }} TenantConfig
 */

/**
 * What a route may add: `{ only: <tier> }`. It does not replace the config, it comes on top.
 * @typedef {{ only: string }} TenantOverride
 */

/** Counts by tenant and status, over all channels and all updates of the configuration. */
export const counts = new Map();

/** @type {import('grpc-xds').HttpFilterDefinition<TenantConfig, TenantOverride>} */
export const tenantFilter = {
  configTypes: ['acme.v1.Tenants'],
  overrideTypes: ['acme.v1.TenantsPerRoute'],

  // The control plane receives the text of what these two throw; the last good configuration stays in use.
  parseConfig(input) {
    const { tiers } = readJson(input);
    if (typeof tiers !== 'object' || tiers === null) throw new Error('tiers: must be an object');
    const mistakes = Object.entries(tiers)
      .filter(([, tier]) => typeof tier !== 'string')
      .map(([tenant]) => new Error(`tiers[${JSON.stringify(tenant)}]: must be the name of a tier`));
    if (mistakes.length > 0) throw new AggregateError(mistakes);
    return { tiers: new Map(Object.entries(tiers)) };
  },
  parseOverride(input) {
    const { only } = readJson(input);
    if (typeof only !== 'string') throw new Error('only: must be the name of a tier');
    return { only };
  },

  createCallFilter({ tiers }, override, call) {
    const tenant = String(call.headers.get('x-tenant')[0] ?? '');
    return {
      onRequestHeaders(headers) {
        const tier = tiers.get(tenant);
        if (tier === undefined) refuse(`${tenant || 'nobody'} is not a tenant`);
        if (override !== undefined && override.only !== tier) {
          refuse(`${call.method} is for tier ${override.only}, ${tenant} has ${tier}`);
        }
        headers.set('x-tier', tier);
        return headers;
      },
      // Every call gets here exactly once, however it ends.
      onStatus(status) {
        const key = `${tenant || 'nobody'} ${grpc.status[status.code]}`;
        counts.set(key, (counts.get(key) ?? 0) + 1);
        return status;
      },
    };
  },
};

function readJson(input) {
  if (input.kind === 'json') return input.json;
  throw new Error(`${input.typeName} must come as a TypedStruct`);
}

function refuse(details) {
  throw new CallFailedError({ code: grpc.status.PERMISSION_DENIED, details });
}
