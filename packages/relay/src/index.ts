/**
 * One stream to the control plane for the processes of a host: `import … from 'grpc-xds-relay'`.
 *
 * @packageDocumentation
 */
export { Relay, type CloseOptions } from './relay';
export type { StartOptions } from '../../../src/util/abort';
export type { RelayNode, RelayOptions } from './relay-options';
export type {
  RelayClientReport,
  RelayedTypeReport,
  RelayLoadClientReport,
  RelayNodeReport,
  RelayReport,
} from './relay-report';
