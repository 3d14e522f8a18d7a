import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PRIORITY = 'lb/priority/balancer.test.ts';
const CDS = 'lb/cds/balancer.test.ts';
const LEAVES = 'dependency-manager/aggregate-clusters.test.ts';
const CONFIG = 'dependency-manager/build-xds-config.test.ts';
const MANAGER = 'dependency-manager/dependency-manager.test.ts';
const FAILOVER = 'e2e/failover.test.ts';
const PRIORITIES = 'e2e/failover-priorities.test.ts';
const AGGREGATES = 'e2e/failover-aggregates.test.ts';
const TIME = 'e2e/failover-time.test.ts';
const ASSIGNMENT = 'resources/endpoints.test.ts';
const UPDATES = 'e2e/endpoint-updates.test.ts';
const CLUSTER = 'resources/cluster.test.ts';
const BAD_INPUT = 'e2e/bad-input.test.ts';

const TEN_SECONDS =
  'is given ten seconds, in a cluster and in an aggregate, and one that was never told of fifteen';

/** A behaviour that the suites of grpc-go test, by the name of its test there, and our test of it. */
type Row = readonly [behaviour: string, file: string, test: string];

const priorities: readonly Row[] = [
  [
    'HighPriorityReady',
    PRIORITY,
    'does not create an added lower child while a higher one is ready',
  ],
  [
    'HighPriorityReady',
    PRIORITIES,
    'goes on with the priorities there are when a lower one is added and removed',
  ],
  ['SwitchPriority', PRIORITY, 'switches down when it fails and back up when it recovers'],
  [
    'SwitchPriority',
    PRIORITIES,
    'goes down two priorities, and back up one at a time, and no call fails',
  ],
  ['HighPriorityToConnectingFromReady', PRIORITY, 'gives it 10 seconds to connect again'],
  [
    'HigherDownWhileAddingLower',
    PRIORITY,
    'creates an added lower child at once when all the others have failed',
  ],
  ['HigherReadyCloseAllLower', PRIORITY, 'are destroyed after 15 minutes'],
  [
    'HigherReadyCloseAllLower',
    PRIORITIES,
    'goes from the last straight to the first when that is back before the second',
  ],
  ['InitTimeout', PRIORITY, 'creates the second child when the first had 10 seconds'],
  ['InitTimeout', TIME, TEN_SECONDS],
  [
    'RemovesAllPriorities',
    PRIORITY,
    'fails calls when there are no priorities any more, until there are',
  ],
  [
    'RemovesAllPriorities',
    PRIORITIES,
    'fails calls when all priorities are taken away, until there are some',
  ],
  [
    'HighPriorityNoEndpoints',
    PRIORITIES,
    'leaves a priority whose endpoints are taken away, and comes back when there are others',
  ],
  [
    'FirstPriorityUnavailable',
    PRIORITY,
    'creates the second child as soon as the first has failed',
  ],
  ['FirstPriorityUnavailable', FAILOVER, 'begins with the second when the first was never there'],
  ['MoveChildToHigherPriority', PRIORITY, 'keeps children when only their order changes'],
  ['MoveReadyChildToHigherPriority', PRIORITY, 'switches to a ready child that moved up'],
  [
    'MoveReadyChildToHigherPriority',
    PRIORITIES,
    'keeps the connection of a backend that moves to another priority',
  ],
  ['RemoveReadyLowestChild', PRIORITY, 'destroys a removed child at once, even if it was ready'],
  // By gRFC A115, what is removed from the configuration is not kept.
  ['ReadyChildRemovedButInCache', PRIORITY, 'creates a removed child again when it is added again'],
  [
    'ChildPolicyChange',
    PRIORITY,
    'keeps the old child serving while the policy of a priority is replaced',
  ],
  [
    'ChildPolicyUpdatePickerInline',
    PRIORITY,
    'publishes once when all children fail as soon as they are created',
  ],
  [
    'IgnoreReresolutionRequest',
    PRIORITY,
    'forwards a request for re-resolution unless configured to ignore it',
  ],
  [
    'IgnoreReresolutionRequestTwoChildren',
    CDS,
    'requests re-resolution for the DNS leaf and not for the other',
  ],
  [
    'HighPriorityInitIdle',
    PRIORITY,
    'takes a child that begins idle and does not create the others',
  ],
  [
    'AddLowPriorityWhenHighIsInIdle',
    PRIORITY,
    'does not create an added lower child while a higher one is idle',
  ],
  [
    'HighPriorityUpdatesWhenLowInUse',
    PRIORITIES,
    'goes up when the first priority gets other endpoints while a lower one is in use',
  ],
];

const aggregates: readonly Row[] = [
  ['Success_LeafNode', CDS, 'sets up cluster_impl, which sets up priority'],
  [
    'Success_ThenUpdateChildClusters',
    AGGREGATES,
    'follows a change of its list, and of their order',
  ],
  ['Success_ThenChangeRootToEDS', MANAGER, 'follows a cluster that becomes an aggregate, and back'],
  [
    'Success_SwitchBetweenLeafAndAggregate',
    CDS,
    'may turn into a cluster with endpoints and back, without an interruption',
  ],
  [
    'Success_SwitchBetweenLeafAndAggregate',
    AGGREGATES,
    'may turn into a cluster with endpoints of its own, and back',
  ],
  [
    'Failure_ExceedsMaxStackDepth',
    LEAVES,
    'is an error when a path is longer, even though another is not',
  ],
  ['Failure_ExceedsMaxStackDepth', AGGREGATES, 'that is nested too deep fails calls and says so'],
  ['Success_DiamondDependency', CONFIG, 'watches both sides of a diamond once'],
  ['Success_IgnoreDups', LEAVES, 'a leaf named twice'],
  ['NodeChildOfItself', LEAVES, 'an aggregate that contains itself'],
  [
    'NodeChildOfItself',
    CONFIG,
    'makes an aggregate of nothing but itself an error of that cluster, and names the client',
  ],
  ['CycleWithNoLeafNode', LEAVES, 'is an error when there are only cycles: %j'],
  [
    'CycleWithNoLeafNode',
    AGGREGATES,
    'that leads to itself only fails calls, and serves again once it leads to endpoints',
  ],
  ['CycleWithLeafNode', LEAVES, 'a cycle with a way out'],
  ['WithTwoEDSClusters', FAILOVER, 'an aggregate of two EDS clusters'],
  ['WithTwoEDSClusters', CONFIG, 'is incomplete until every leaf has endpoints or an error'],
  [
    'WithTwoEDSClusters_PrioritiesChange',
    AGGREGATES,
    'follows a change of its list, and of their order',
  ],
  ['WithOneDNSCluster', AGGREGATES, 'of one DNS cluster follows a change of its name'],
  [
    'WithOneDNSCluster_HostnameChange',
    AGGREGATES,
    'of one DNS cluster follows a change of its name',
  ],
  [
    'WithOneDNSCluster_ParseFailure',
    AGGREGATES,
    'says why a name of it cannot be resolved, when nothing else is left',
  ],
  ['WithEDSAndDNS', FAILOVER, 'an aggregate of EDS, then DNS'],
  ['SwitchEDSAndDNS', AGGREGATES, 'follows a cluster of it that changes from EDS to DNS and back'],
  ['BadEDS_GoodToBadDNS', AGGREGATES, 'goes to the next cluster when the first has no endpoints'],
  [
    'BadEDS_GoodToBadDNS',
    MANAGER,
    'keeps the last answer over an error, with a note, until there is another answer',
  ],
  ['BadEDS_BadDNS', CDS, 'reports the errors of all leaves when none can be used'],
  [
    'BadEDS_BadDNS',
    AGGREGATES,
    'says why a name of it cannot be resolved, when nothing else is left',
  ],
  [
    'NoFallback_EDSNackedWithPreviousGoodUpdate',
    AGGREGATES,
    'goes on with the endpoints that it had',
  ],
  [
    'Fallback_EDSNackedWithoutPreviousGoodUpdate',
    AGGREGATES,
    'goes to the second if it never had any',
  ],
  ['Fallback_EDS_ResourceNotFound', TIME, TEN_SECONDS],
  [
    'ChildError',
    CONFIG,
    'keeps a leaf that cannot be had as a leaf, with its error among the clusters',
  ],
  ['NoLeafCluster', LEAVES, 'is an error when there are only cycles: %j'],
  ['MaxDepth', LEAVES, 'follows a path of the maximum length'],
];

const endpoints: readonly Row[] = [
  ['OneLocality', UPDATES, 'of one locality are added, taken away and replaced'],
  ['MultipleLocalities', UPDATES, 'of several localities follow each of these'],
  [
    'EndpointsHealth',
    UPDATES,
    'get calls only while they are healthy, or nothing is known of their health',
  ],
  ['EmptyUpdate', UPDATES, 'may all be taken away, which fails calls, and come back'],
  ['ResourceRemoved', UPDATES, 'stay in use when the resource is there no more'],
  [
    'ClusterResourceDoesNotContainEDSServiceName',
    CLUSTER,
    'needs a service name where the name of the cluster is an xdstp one',
  ],
  ['ClusterResourceUpdates', UPDATES, 'are those of another resource once the cluster names that'],
  [
    'BadUpdateWithoutPreviousGoodUpdate',
    UPDATES,
    'that are rejected at first fail calls, and say why, until there are good ones',
  ],
  ['BadUpdateWithPreviousGoodUpdate', UPDATES, 'stay in use when an update of them is rejected'],
  ['ResourceNotFound', TIME, TEN_SECONDS],
  ['EndpointWithMultipleAddresses', UPDATES, 'are reached at whichever of their addresses answers'],
];

/** Of nested aggregates and more than two priorities, which those suites hardly have. */
const further: readonly Row[] = [
  ['nested aggregates', AGGREGATES, 'of aggregates uses all their clusters in depth-first order'],
  [
    'priorities inside of aggregates',
    AGGREGATES,
    'goes through the priorities of its first cluster before it turns to the second',
  ],
  [
    'a gap between priorities',
    BAD_INPUT,
    'rejects a gap between priorities, and lists everything else that is wrong',
  ],
  [
    'priorities in any order',
    ASSIGNMENT,
    'puts the priorities in order, whatever order they come in',
  ],
];

const sources = new Map<string, string>();

function source(file: string): string {
  const known = sources.get(file) ?? readFileSync(join(__dirname, '..', file), 'utf8');
  sources.set(file, known);
  return known;
}

describe.each([
  ['TestPriority_', priorities],
  ['TestAggregateCluster', aggregates],
  ['TestEDS_', endpoints],
  ['of our own:', further],
])('what is known as %s', (_, rows) => {
  it.each(rows)('%s is tested in %s: %s', (_behaviour, file, test) => {
    expect(source(file)).toContain(`'${test}'`);
  });
});
