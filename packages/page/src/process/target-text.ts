import { buildMeshGraph, DEFAULT_GRAPH_OPTIONS } from '../graph/build-mesh-graph';
import type { GraphProcess } from '../graph/control-plane-graph';
import { toTree } from '../graph/graph-text';
import { cellText } from '../live-page/view';
import type { PolicyState } from 'grpc-xds';
import { type XdsConfig, type ResourceSnapshot, describeResource } from 'grpc-xds/internal';
import type { PastState } from './history-state';
import { buildPastGraph, changesOf } from './past-graph';
import type { Result } from '../../../../src/util/result';
import { toIso } from '../../../../src/util/since';
import { PACKAGE_VERSION } from '../../../../src/util/version';
import { problemsOf } from './resource-rows';

/** Resources whose versions are listed, those with problems first. */
const MAX_RESOURCES = 100;

/** A target to describe, as it is or was. */
export interface DescribedTarget {
  readonly target: string;
  readonly atMs: number;
  readonly event: readonly string[];
  /** The graph of it, or why there is none. */
  readonly graph: Result<
    Partial<PastState> & {
      readonly config: XdsConfig;
      readonly policies?: PolicyState | undefined;
      readonly process?: GraphProcess | undefined;
    },
    string
  >;
  /** Those of now. */
  readonly resources: readonly ResourceSnapshot[];
}

/** Describes a target as text, for a ticket: where its calls go, the event that is looked at, and the versions in use. */
export function describeTargetAsText(described: DescribedTarget): string {
  const { target, atMs, event, graph, resources } = described;
  const sections = [
    [`grpc-xds ${PACKAGE_VERSION}, process ${process.pid}, ${cellText(target)}, ${toIso(atMs)}`],
    event,
    graph.ok ? treeOf(target, graph.value) : [`no config: ${cellText(graph.error)}`],
    versionsOf(resources),
  ];
  const texts = sections.filter(({ length }) => length > 0).map((lines) => lines.join('\n'));
  return texts.join('\n\n');
}

type Graph = Extract<DescribedTarget['graph'], { readonly ok: true }>['value'];

function treeOf(target: string, { note = '', ...state }: Graph): string[] {
  const input = { target, policies: undefined, ...state };
  const lines = toTree(buildMeshGraph(input)).split('\n');
  const changes = changesOf(input, buildPastGraph(input, DEFAULT_GRAPH_OPTIONS)) ?? [];
  const listed = changes.map((line) => `  ${line}`);
  return [
    ...lines,
    ...(note === '' ? [] : [note]),
    ...(listed.length === 0 ? [] : ['The event has changed:', ...listed]),
  ].map(cellText);
}

function versionsOf(resources: readonly ResourceSnapshot[]): readonly string[] {
  const problems = problemsOf(resources);
  const all = [...problems, ...resources.filter(({ status }) => status === 'ACKED')];
  const lines = all.slice(0, MAX_RESOURCES).map((resource) => {
    const { type, name, status, version, failure } = describeResource(resource);
    const inUse = version === undefined ? 'no version' : `version ${version}`;
    return cellText(
      [`${type} ${name}: ${status}, ${inUse}`, failure?.details].filter(Boolean).join('; '),
    );
  });
  const more = all.length - lines.length;
  return ['Resources now:', ...lines, ...(more > 0 ? [`and ${more} more`] : [])];
}
