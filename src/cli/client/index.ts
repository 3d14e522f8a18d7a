/** The parts of the client that commands use, loaded by `load-client.ts`. */

export { createResourceJudge } from './decoders';
export { runDoctor } from './doctor/doctor';
export type { Finding, FindingLevel } from './doctor/finding';
export { openTarget } from './open-target';
export type { OpenTarget } from './open-target';
export { type BootstrapOrigin, findTargetProblem, validateBootstrap } from './bootstrap-origin';
export { connectUpstream } from './upstream';
export type { Upstream } from './upstream';
export type { StreamStatus, XdsStream, XdsTransport } from '../../xds-client/transport';
export { explain } from './explain';
export { parseTarget } from '../../resolver/xds-scheme';
export { watchChannel } from './watch-channel';
export type { WatchedChannel } from './watch-channel';
export type { ChildState, EndpointState, PolicyState } from '../../lb/tree/policy-state';
export type { ChangeReport, TargetReport } from '../../observe/admin/inspect-report';
