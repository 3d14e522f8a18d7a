import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Behaviours of an xDS client by the names of grpc-go's tests (`internal/xds/xdsclient/tests`, `internal/xds/clients/xdsclient/test`,
 * `test/xds`), each with the file below `test/` and the title of our test of it. Tests of priorities, aggregate clusters and endpoints
 * (`TestPriority_*`, `TestAggregateCluster*`, `TestEDS_*`) have counterparts in `lb/priority`, `lb/cds`, `dependency-manager`,
 * `e2e/failover*.test.ts` and `e2e/endpoint-updates.test.ts`.
 */
const behaviours: readonly (readonly [behaviour: string, file: string, test: string])[] = [
  // Requests, responses and streams
  [
    'TestADS_ACK_NACK_Simple',
    'xds-client/ads-ack-nack.test.ts',
    'ACKs with the version and the nonce, NACKs with the last accepted version and the new nonce',
  ],
  [
    'TestADS_NACK_InvalidFirstResponse',
    'xds-client/ads-ack-nack.test.ts',
    'NACKs an invalid first response with an empty version',
  ],
  [
    'TestADS_ACK_NACK_ResourceIsNotRequestedAnymore',
    'xds-client/ads-ack-nack.test.ts',
    'ACKs a response for a resource that is no longer watched',
  ],
  [
    'TestADS_NACKError_DuplicateSuppression',
    'xds-client/ads-ack-nack.test.ts',
    'notifies watchers of the same error once, however often it is sent',
  ],
  [
    'TestADS_BackoffAfterStreamFailure',
    'xds-client/ads-streams.test.ts',
    'is an error for every pending resource, and is retried with growing delays',
  ],
  [
    'TestADS_RetriesAfterBrokenStream',
    'xds-client/ads-streams.test.ts',
    'is no error and is replaced at once',
  ],
  [
    'TestADS_RetriesAfterBrokenStream',
    'xds-client/ads-streams.test.ts',
    'begins the backoff anew, however often the server has failed before',
  ],
  [
    'TestADS_ResourcesAreRequestedAfterStreamRestart',
    'xds-client/ads-streams.test.ts',
    'requests every resource again, with the last version and without a nonce',
  ],
  [
    'TestClientResourceVersionAfterStreamRestart',
    'xds-client/ads-streams.test.ts',
    'requests every resource again, with the last version and without a nonce',
  ],
  [
    'TestADS_WatchState_StreamBreaks',
    'xds-client/missing-resources.test.ts',
    'is waited for anew on a new stream, unlike what has come',
  ],
  [
    'TestADS_WatchState_StreamBreaks',
    'xds-client/missing-resources.test.ts',
    'is not waited for while the server is out of reach, and anew on the next stream',
  ],
  [
    'TestADS_WatchState_TimerFires',
    'xds-client/missing-resources.test.ts',
    'is concluded not to exist 15 s after the request was sent',
  ],
  [
    'TestADSFlowControl_ResourceUpdates_SingleResource',
    'xds-client/flow-control.test.ts',
    'reads one response at a time, and the next one only when all watchers have had the last',
  ],
  [
    'TestADSFlowControl_ResourceUpdates_MultipleResources',
    'xds-client/flow-control.test.ts',
    'deals with responses that wait in the order they were sent',
  ],
  [
    'TestADSFlowControl_ResourceErrors',
    'xds-client/flow-control.test.ts',
    'reads on after every watcher was notified of a response that %s, and not before',
  ],
  [
    'TestADSFlowControl_ResourceDoesNotExist',
    'xds-client/flow-control.test.ts',
    'reads on after every watcher was notified of a response that %s, and not before',
  ],
  [
    'TestNodeProtoSentOnlyInFirstRequest',
    'xds-client/ads-streams.test.ts',
    'sends the node in the first request of a stream only',
  ],
  [
    'TestWatchErrorsContainNodeID',
    'xds-client/watch.test.ts',
    'receives the node id in every error',
  ],
  // Watches
  [
    'Test{LDS,RDS,CDS,EDS}Watch',
    'xds-client/watch.test.ts',
    'notifies only of what changed, and decodes nothing else',
  ],
  [
    '…_TwoWatchesForSameResourceName',
    'xds-client/watch.test.ts',
    'notifies two watchers of one resource of the same',
  ],
  [
    '…_ThreeWatchesForDifferentResourceNames',
    'xds-client/watch.test.ts',
    'notifies only of what changed, and decodes nothing else',
  ],
  [
    '…_ResourceCaching',
    'xds-client/watch.test.ts',
    'is notified of the value at once, without a request',
  ],
  [
    '…_ExpiryTimerFiresBeforeResponse',
    'xds-client/missing-resources.test.ts',
    'is passed on when it is received after the timeout',
  ],
  [
    '…_ValidResponseCancelsExpiryTimerBehavior',
    'xds-client/missing-resources.test.ts',
    'is no longer waited for once it has come',
  ],
  [
    '…_ResourceRemoved',
    'xds-client/deletion.test.ts',
    'is gone, and back when it is sent again unchanged',
  ],
  ['…_NACKError', 'xds-client/watch.test.ts', 'is notified of a resource that was rejected'],
  [
    '…_PartialValid',
    'xds-client/ads-ack-nack.test.ts',
    'uses what is valid in a response that it NACKs',
  ],
  ['…_PartialResponse', 'xds-client/deletion.test.ts', 'stays when it is left out'],
  // Fallback and federation
  [
    'TestFallback_OnStartup',
    'xds-client/fallback.test.ts',
    'uses the second server at startup, without an error, and requests everything from it',
  ],
  [
    'TestFallback_OnStartup_RPCSuccess',
    'e2e/federation.test.ts',
    'is served by that from the start, and by the first as soon as it answers',
  ],
  [
    'TestFallback_MidStartup',
    'xds-client/fallback.test.ts',
    'happens in the middle of an update: what the first server has sent stays until there is more',
  ],
  [
    'TestFallback_MidUpdate',
    'xds-client/fallback.test.ts',
    'begins when a new resource is watched while the server is down',
  ],
  [
    'TestFallback_MidUpdate',
    'e2e/federation.test.ts',
    'turns to it for a new target while the first is away, and loses no call',
  ],
  [
    'TestFallback_ThreeServerPromotion',
    'xds-client/fallback.test.ts',
    'goes back one server at a time',
  ],
  [
    'TestFederation_{LDS,RDS,CDS,EDS}ResourceContextParamOrder',
    'xds-client/authorities.test.ts',
    'are one resource whatever the order of their context parameters',
  ],
  [
    'TestFederation_{LDS,RDS,CDS,EDS}ResourceContextParamOrder',
    'e2e/federation.test.ts',
    'gets everything of a target from the servers of its authority, by names in any spelling',
  ],
  [
    'TestFederation_UnknownAuthorityInDialTarget',
    'e2e/federation.test.ts',
    'fails calls to a target of an authority that it does not know',
  ],
  [
    'TestFederation_UnknownAuthorityInReceivedResponse',
    'e2e/federation.test.ts',
    'fails calls whose resources lead to an authority that it does not know',
  ],
  // What can be observed
  [
    'TestServerFailureMetrics_BeforeResponseRecv',
    'xds-client/diagnostics.test.ts',
    'count what was valid and what was not, and servers that went from well to unwell',
  ],
  [
    'TestServerFailureMetrics_AfterResponseRecv',
    'xds-client/ads-streams.test.ts',
    'is no error and is replaced at once',
  ],
  [
    'TestConnectedMetric',
    'xds-client/observability.test.ts',
    'say when one answers, when it fails, and when it answers again',
  ],
  [
    'TestConnectedMetric_Reconnection',
    'xds-client/observability.test.ts',
    'say when one answers, when it fails, and when it answers again',
  ],
  [
    'TestResourceMetrics',
    'xds-client/diagnostics.test.ts',
    'has every resource with its status, the version in use and the version rejected',
  ],
  // Targets and calls
  [
    'TestNoMatchingVirtualHost',
    'resolver/xds-resolver.test.ts',
    'reports that no virtual host matches, and recovers when one does',
  ],
  [
    'TestResolverRemovedWithRPCs',
    'resolver/xds-resolver.test.ts',
    'fails new calls with the reason, and keeps the cluster of in-flight calls',
  ],
  [
    'TestResolverDelayedClusterRemoval_MultipleInFlightRPCs',
    'resolver/xds-resolver.test.ts',
    'stay until every call on them has been committed',
  ],
  ['TestResolverWRR', 'resolver/xds-resolver.test.ts', 'draws a cluster by weight for each call'],
  [
    'TestResolverMaxStreamDuration',
    'resolver/xds-resolver.test.ts',
    'gets the timeout of its route, or else of the listener',
  ],
  [
    'TestResolverKeepWatchOpen_ActiveRPCs',
    'resolver/xds-resolver.test.ts',
    'still get updates of their endpoints',
  ],
  [
    'TestResolverServerSideListenerReceivedOnClient',
    'resolver/xds-resolver.test.ts',
    'reports a socket listener',
  ],
  [
    'TestIgnoreResourceDeletionOnClient',
    'xds-client/deletion.test.ts',
    'a resource that is left out stays in use, which is logged once, and so is its return',
  ],
];

describe('the behaviours that grpc-go tests', () => {
  it.each(behaviours)('%s is tested in %s: %s', (_behaviour, file, test) => {
    expect(readFileSync(join(__dirname, '..', file), 'utf8')).toContain(`'${test}'`);
  });
});
