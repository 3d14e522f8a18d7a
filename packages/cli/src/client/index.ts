import type * as Relays from 'grpc-xds-relay';
import type * as RelayMetrics from './relay-metrics';
import type * as RelayPages from './relay-page';
import type * as Servers from 'grpc-xds/server';
import { lazy } from '../../../../src/util/lazy';
import type * as DrawnTargets from './drawn-target';
import type * as ServedGraphs from './served-graph';

/** The parts of the client that commands use, loaded late: see `loadClient`. */

export { createResourceJudge, readBootstrapSource } from 'grpc-xds/internal';
export { runDoctor } from './doctor/doctor';
export type { Finding, FindingLevel } from './doctor/finding';
export { readTarget } from 'grpc-xds/internal';
export { explainGivenRequest as explainServer } from 'grpc-xds/internal';
export { type BootstrapOrigin, findTargetProblem, validateBootstrap } from 'grpc-xds/internal';
export { connectUpstream } from 'grpc-xds/internal';
export { describeDisplaced } from 'grpc-xds/internal';
export { isDisplaced } from 'grpc-xds/internal';
export type { Upstream } from 'grpc-xds/internal';
export type { StreamStatus, XdsStream, XdsTransport } from 'grpc-xds/internal';
export { explainGivenCall as explain, resourcesOfTarget } from 'grpc-xds/internal';
export type { Drawing, GraphFormat } from './drawn-target';
export type { GivenResource } from 'grpc-xds/internal';
export type { ServedGraph } from './served-graph';
export type { DescribeChange } from 'grpc-xds-page/internal';
export { parseTarget } from 'grpc-xds/internal';
export { describeUseless } from './served-listener';
export { watchChannel } from './target-watch';
export { watchServer } from './watched-server';
export type { WatchedChannel, WatchReport } from './target-watch';
export type { ChildState, EndpointState, PolicyState, StateName } from 'grpc-xds';
export type { ChangeReport, TargetReport } from 'grpc-xds';
export type { CallExplanation } from 'grpc-xds';

/** What servers secure connections by, which the commands of clients do not need. */
export const loadServers = lazy<typeof Servers>(() => require('grpc-xds/server'));

/** The relay has the management server above the client, which the other commands must not load. */
export const loadRelay = lazy<typeof Relays>(() => require('grpc-xds-relay'));
export const loadRelayMetrics = lazy<typeof RelayMetrics>(() => require('./relay-metrics'));
export const loadRelayPage = lazy<typeof RelayPages>(() => require('./relay-page'));

/** Pictures need a library of layouts. */
export const loadDrawings = lazy<typeof DrawnTargets>(() => require('./drawn-target'));
/** The graphs of the live page of a management server. */
export const loadServedGraphs = lazy<typeof ServedGraphs>(() => require('./served-graph'));
