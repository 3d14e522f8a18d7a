import type { LbConfig, LbConfigParser, TypedBytes } from '../../resources/extension-points';
import { readExtension } from '../../resources/shared/extension-parser';
import { readMap } from '../../util/json-fields';
import type { Violations } from '../../util/violations';
import type { LbChildParser, LbConfigConverter, LbPolicyLookup, LbPolicyType } from '../lb-policy';
import { addUnsupported } from './policy-config';

export interface LbPolicyRegistryOptions {
  readonly policies: readonly LbPolicyType[];
  /** Finds policies that are not registered here, such as those registered with grpc-js. */
  readonly fallback?: LbPolicyLookup;
}

/** Policies nested deeper than this are rejected (gRFC A52). */
const MAX_DEPTH = 16;

/**
 * The load-balancing policies by gRPC name, and the converters of their xDS configs by message type. A later registration
 * replaces an earlier one.
 */
export class LbPolicyRegistry implements LbPolicyLookup, LbChildParser, LbConfigParser {
  private readonly policies = new Map<string, LbPolicyType>();
  private readonly converters = new Map<string, LbConfigConverter>();
  private readonly fallback: LbPolicyLookup | undefined;

  constructor(options: LbPolicyRegistryOptions) {
    this.fallback = options.fallback;
    for (const policy of options.policies) this.register(policy);
  }

  /** Adds a policy under its name, and under the message with which a cluster's `load_balancing_policy` can name it. */
  register(policy: LbPolicyType): void {
    const { converter, name } = policy;
    this.policies.set(name, policy);
    if (converter !== undefined) this.converters.set(converter.messageType, converter);
  }

  /** The policies registered here, without those of the fallback. */
  registered(): Iterable<LbPolicyType> {
    return this.policies.values();
  }

  /**
   * Finds a policy. Implementations of gRPC spell the names of several policies with or without `_experimental`; where a
   * policy does not exist in one spelling, the other one counts.
   */
  get(policyName: string): LbPolicyType | undefined {
    return (
      this.policies.get(policyName) ??
      this.policies.get(otherSpelling(policyName)) ??
      this.fallback?.get(policyName)
    );
  }

  fromJson(json: unknown, violations: Violations): LbConfig | undefined {
    return this.parseList(json, violations);
  }

  fromPlugin(json: unknown, violations: Violations): LbConfig | undefined {
    return this.childrenOf(-1, true).parseList(json, violations);
  }

  parseList(json: unknown, violations: Violations): LbConfig | undefined {
    return this.childrenOf(-1).parseList(json, violations);
  }

  private parseListAt(
    depth: number,
    isOfPlugin: boolean,
    json: unknown,
    violations: Violations,
  ): LbConfig | undefined {
    if (isTooDeep(depth, violations)) return undefined;
    if (!Array.isArray(json)) return violations.add('must be a list of load-balancing policies');
    const entries: readonly unknown[] = json;
    const unknownNames: string[] = [];
    for (const [i, entry] of entries.entries()) {
      const choice = readChoice(entry, violations.index(i));
      if (choice === undefined) return undefined;
      const type = this.get(choice.name);
      const at = violations.index(i).at(choice.name);
      const children = this.childrenOf(depth, isOfPlugin);
      if (type?.parseConfig !== undefined) return type.parseConfig(choice.config, at, children);
      if (isOfPlugin && type?.parsePluginConfig !== undefined) {
        return type.parsePluginConfig(choice.config, at, children);
      }
      unknownNames.push(choice.name);
    }
    addUnsupported(unknownNames, violations);
    return undefined;
  }

  fromProto(
    config: TypedBytes,
    depth: number,
    violations: Violations,
  ): LbConfig | 'unsupported' | undefined {
    if (isTooDeep(depth, violations)) return undefined;
    const extension = readExtension(config, violations);
    switch (extension?.kind) {
      case undefined:
        return undefined;
      case 'json': {
        const type = this.get(extension.typeName);
        if (type?.parseConfig === undefined) return 'unsupported';
        return type.parseConfig(extension.json, violations.at('value'), this.childrenOf(depth));
      }
      case 'message': {
        const converter = this.converters.get(extension.typeName);
        if (converter === undefined) return 'unsupported';
        return converter.convert(extension.bytes, { parser: this, depth, violations });
      }
    }
  }

  /** Returns the parser of the children of a policy at this depth. */
  private childrenOf(depth: number, isOfPlugin = false): LbChildParser {
    return {
      parseList: (json, violations) => this.parseListAt(depth + 1, isOfPlugin, json, violations),
    };
  }
}

const EXPERIMENTAL = '_experimental';

function otherSpelling(policyName: string): string {
  return policyName.endsWith(EXPERIMENTAL)
    ? policyName.slice(0, -EXPERIMENTAL.length)
    : `${policyName}${EXPERIMENTAL}`;
}

function isTooDeep(depth: number, violations: Violations): boolean {
  if (depth < MAX_DEPTH) return false;
  violations.add(`load-balancing policies are nested more than ${MAX_DEPTH} deep`);
  return true;
}

/** Reads `{ name: config }`. */
function readChoice(
  entry: unknown,
  violations: Violations,
): { readonly name: string; readonly config: unknown } | undefined {
  const fields = readMap(entry, violations);
  if (fields === undefined) return undefined;
  const [only, ...others] = fields;
  if (only === undefined || others.length > 0)
    return violations.add('must have one field, the name of a load-balancing policy');
  return { name: only[0], config: only[1] };
}
