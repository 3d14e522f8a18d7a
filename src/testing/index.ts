/**
 * Tests for load-balancing policies of applications: `import … from 'grpc-xds/testing'`.
 *
 * @packageDocumentation
 */
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
