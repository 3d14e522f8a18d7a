/**
 * One stream to the control plane for the processes of a host: `import … from 'grpc-xds/relay'`.
 *
 * @packageDocumentation
 */
export { Relay } from './relay';
export type { RelayOptions } from './relay-options';
export type {
  RelayClientReport,
  RelayedTypeReport,
  RelayLoadClientReport,
  RelayReport,
} from './relay-report';
