/**
 * Tests for load-balancing policies of applications, and for the authorization of their servers:
 * `import … from 'grpc-xds/testing'`.
 *
 * @packageDocumentation
 */
export { authorize } from './authorize';
export type {
  AuthorizationResources,
  AuthorizationResult,
  RequestToAuthorize,
} from './authorization';
export type {
  AuditLoggingOptions,
  AuthorizationPolicy,
  AuthorizationRule,
} from '../authorization/authorization-policy';
export type { RuleTrial } from '../authorization/explain-rules';
export type {
  ChosenFilterChain,
  FilterTrial,
  RequestExplanation,
  ServerRouteTrial,
} from '../server/explain/request-explanation';
export type { ChildChannelFactory, ChildChannelOptions } from '../grpc-js/child-channel-options';
export { lbPolicyContract } from './lb-policy-contract';
export type { LbPolicyContractOptions } from './lb-policy-contract';
export type { ContractCase } from './lb-policy-contract';
export type {
  CustomLbPolicy,
  LbCall,
  LbConnection,
  LbConnectionState,
  LbEndpoint,
  LbEndpointMetadata,
  LbLocality,
  LbPicker,
  LbPolicyConfigInput,
  LbPolicyDefinition,
  LbPolicyHost,
  LbPolicyUpdate,
  LbPublishedState,
} from '../lb/custom/definition';
