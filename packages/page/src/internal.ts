// cli
export { graphOptions, graphRows } from './process/graph-rows';
// cli
export { DEFAULT_GRAPH_OPTIONS, buildMeshGraph, buildWholeGraph } from './graph/build-mesh-graph';
export type { GraphOptions } from './graph/build-mesh-graph';
// cli
export { compareGraphs } from './graph/compare-graphs';
export type { DescribeChange } from './graph/compare-graphs';
// cli
export { buildRelayGraph } from './graph/control-plane-graph';
// cli
export { cutColumns } from './graph/cut-columns';
// cli
export { toSvg } from './graph/graph-svg';
// cli
export { toTree } from './graph/graph-text';
// cli
export { joinGraphs } from './graph/join-graphs';
// cli
export type { GraphNode, MeshGraph } from './graph/mesh-graph';
// cli
export { readPolicies } from './graph/read-report';
// cli
export { readProcess } from './graph/read-report';
// cli
export {
  LoggedPage,
  stateOfTypes,
  streamRow,
  typeRow,
  type AnswerState,
} from './live-page/logged-page';
// cli
export { servePage } from './live-page/page-server';
// cli
export {
  MAX_ROWS,
  NO_ROWS,
  cellText,
  createView,
  firstRow,
  matchesFilter,
  rowId,
} from './live-page/view';
export type { PageSource, PageState, Row, View, ViewRequest } from './live-page/view';
