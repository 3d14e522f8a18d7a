import { toIso } from '../../../util/since';
import { statusName } from '../../../util/status-code';
import { cellText, type Row } from '../../live-page/view';
import type { CallSamples, SampledCall } from '../../rates/call-samples';

/** The calls of a target that were sampled, the latest first, after a row with the share of calls that is. */
export function sampleRows(
  samples: Pick<CallSamples, 'share' | 'of'>,
  target: string,
): readonly Row[] {
  const first = { id: 'sampling', kind: 'sampling', share: samples.share };
  return [first, ...samples.of(target).map(sampleRow)];
}

function sampleRow(call: SampledCall): Row {
  const { id, path, startedAtMs, code, endpoint, durationMs } = call;
  return {
    ...{
      id: `sample ${id}`,
      kind: 'sample',
      call: id,
      at: toIso(startedAtMs),
      path: cellText(path),
    },
    endpoint: cellText(endpoint ?? 'no endpoint'),
    outcome: `${statusName(code)} in ${Math.round(durationMs)} ms`,
  };
}

/** Describes a sampled call for people. */
export function describeSample(call: SampledCall): string {
  const { path, startedAtMs, headers, route, cluster, endpoint, code, durationMs } = call;
  const lines = [
    `${path}, started ${toIso(startedAtMs)}: ${statusName(code)} in ${Math.round(durationMs)} ms`,
    ...headers.map(({ name, value }) => `  ${name}: ${value}`),
    route === undefined ? 'no route' : `route ${route.index}: ${route.label}`,
    cluster === undefined ? 'no cluster' : `cluster ${cluster}`,
    endpoint === undefined ? 'no endpoint' : `endpoint ${endpoint}`,
  ];
  return lines.map(cellText).join('\n');
}
