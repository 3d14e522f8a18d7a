import { createHash } from 'node:crypto';
import type { Fact } from '../../util/compare-subjects';
import { answerFacts, type RelayAnswer } from '../../util/relay-answers';
import { parseProcessId } from '../../util/process-header';
import { cutText, quoteName } from '../../util/text';
import { isJsonObject } from '../../wire/proto-json/explain-json';
import { numberOf, objectsIn, textOf, type Json } from '../top/report-json';
import type { TopSample } from '../top/sample';

/** Targets of a process, and resources of a target, that are compared; those beyond are left out. */
const MAX_TARGETS = 100;
const MAX_RESOURCES = 5000;
/** Management servers of a target that are shown. */
const MAX_SERVERS = 8;
/** Addresses of servers of a process. */
const MAX_ADDRESSES = 100;
/** Characters of a text of a report. */
const MAX_TEXT = 500;
/** Clients of a relay. */
const MAX_CLIENTS = 1000;

/** What a report says of a process, or of a client of a relay. */
export interface ProcessState {
  readonly name: string;
  /** `undefined` if the source does not say. */
  readonly pid: number | undefined;
  /** The same for each report of one process, and for no other process; `undefined` if the source does not say. */
  readonly identity: string | undefined;
  readonly targets: readonly TargetState[];
  /** What is compared besides the targets, such as the state of each address of its servers. */
  readonly facts: ReadonlyMap<string, Fact>;
}

/** What a report says of one target of a process. */
export interface TargetState {
  readonly target: string;
  readonly nodeId: string;
  readonly state: string;
  /** Why calls fail, or what is waited for; empty otherwise. */
  readonly reason: string;
  /** Such as `Listener "shop", routes "shop-routes", 3 clusters`; empty without a config. */
  readonly inUse: string;
  /** The management servers, with their states. */
  readonly servers: readonly string[];
  /** By names such as `Cluster "cart"`. */
  readonly resources: ReadonlyMap<string, Fact>;
  readonly rejected: number;
  /** When the last of its resources was accepted, in ISO 8601; empty if none was. */
  readonly updatedAt: string;
}

/** Reads the processes of a report: the one that it is of, or a relay and its clients. */
export function readProcessStates(
  name: string,
  report: Json,
  { pid }: TopSample,
): readonly ProcessState[] {
  const { relay } = report;
  if (isJsonObject(relay)) return objectsIn(relay['clients']).slice(0, MAX_CLIENTS).map(clientOf);
  const targets = objectsIn(report['targets']).slice(0, MAX_TARGETS).map(targetOf);
  const startedAt = shortText(report['startedAt']);
  const identity = startedAt === '' ? undefined : `${pid ?? ''} ${startedAt}`;
  return [{ name, pid, identity, targets, facts: addressFacts(objectsIn(report['servers'])) }];
}

function clientOf(client: Json): ProcessState {
  const nodeId = shortText(client['nodeId']);
  const name = `${nodeId || 'client'} (stream ${numberOf(client['streamId'])})`;
  return {
    name,
    pid: parseProcessId(client['pid']),
    identity: undefined,
    targets: [],
    facts: answerFacts(objectsIn(client['types']).map(answerOf)),
  };
}

function answerOf({ typeUrl, sentVersion, ackedVersion, rejection }: Json): RelayAnswer {
  const optional = (value: unknown) => (typeof value === 'string' ? shortText(value) : undefined);
  return {
    ...{ typeUrl: shortText(typeUrl), sentVersion: optional(sentVersion) },
    ...{ ackedVersion: optional(ackedVersion), rejection: optional(rejection) },
  };
}

function addressFacts(servers: readonly Json[]): ReadonlyMap<string, Fact> {
  return new Map(
    servers
      .slice(0, MAX_ADDRESSES)
      .map((server) => [
        `server ${shortText(server['address'])}`,
        { text: shortText(server['state']) },
      ]),
  );
}

function targetOf(json: Json): TargetState {
  const resources = objectsIn(json['resources']);
  const waiting = Array.isArray(json['waitingFor']) ? shortText(json['waitingFor'][0]) : '';
  return {
    ...{
      target: shortText(json['target']),
      nodeId: shortText(json['nodeId']),
      state: shortText(json['state']),
    },
    reason: shortText(json['failure']) || waiting,
    inUse: describeConfig(json['config']),
    servers: objectsIn(json['servers'])
      .slice(0, MAX_SERVERS)
      .map((server) => `${shortText(server['serverUri'])} ${shortText(server['state'])}`),
    resources: new Map(resources.slice(0, MAX_RESOURCES).map(resourceFact)),
    rejected: resources.filter(({ status }) => status === 'NACKED').length,
    updatedAt: resources.reduce((latest, { updatedAt }) => {
      const at = shortText(updatedAt);
      return at > latest ? at : latest;
    }, ''),
  };
}

function describeConfig(config: unknown): string {
  if (!isJsonObject(config)) return '';
  const { listener, routeConfig, virtualHost, clusters } = config;
  const count = objectsIn(clusters).length;
  const quote = (name: unknown) => quoteName(shortText(name));
  const names = `Listener ${quote(listener)}, RouteConfiguration ${quote(routeConfig)}, virtual host ${quote(virtualHost)}`;
  return `${names}, ${count === 1 ? '1 cluster' : `${count} clusters`}`;
}

/** The contents decide whether a resource is the same: versions differ if processes have connected at other times. */
function resourceFact(resource: Json): readonly [string, Fact] {
  const { status, version, contents, failure } = resource;
  const used = typeof version === 'string' ? `version ${shortText(version)}` : 'no version';
  const refused = isJsonObject(failure) ? shortText(failure['version']) : '';
  const isFine = status === 'ACKED' || status === undefined;
  const text = isFine ? used : `${shortText(status)}, ${used}${refused && `, refused ${refused}`}`;
  const digest = digestOf(contents);
  const key = digest && { key: `${shortText(status)} ${refused} ${digest}` };
  return [
    `${shortText(resource['type'])} ${quoteName(shortText(resource['name']))}`,
    { text, ...key },
  ];
}

/** Returns a digest of the contents of a resource; `undefined` if a report has none, or says why. */
function digestOf(contents: unknown): string | undefined {
  if (!isJsonObject(contents)) return undefined;
  return createHash('sha256').update(JSON.stringify(contents)).digest('base64url').slice(0, 16);
}

function shortText(value: unknown): string {
  return cutText(textOf(value), MAX_TEXT);
}
