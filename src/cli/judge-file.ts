import type { PathSegment, ResourceFileContent } from '../control-plane';
import type { CliIo } from './io';
import { loadClient } from './load-client';
import type { CheckFinding } from './sarif';

/** Judges all resources as a client does. */
export function judgeAll(content: ResourceFileContent, io: CliIo): readonly CheckFinding[] {
  const judge = loadClient().createResourceJudge(io);
  const { snapshot, ignored } = content;
  const found: CheckFinding[] = [];
  const warnings: CheckFinding[] = ignored.map(({ kind, position, text }) => ({
    ...{ rule: kind, level: 'warning' as const, position, text },
  }));
  for (const kind of snapshot.kinds()) {
    for (const { name, value } of snapshot.set(kind).byName.values()) {
      const { violations, unusedFields } = judge({ typeUrl: kind.typeUrl, name, value });
      const resource = `${kind.label} ${JSON.stringify(name)}`;
      const locate = (text: string) => content.locate(kind, name, pathOf(text));
      for (const violation of violations) {
        const text = `${resource}: clients reject it (NACK): ${violation}`;
        const position = locate(violation);
        found.push({ rule: 'nack', level: 'error', position, resource, text });
      }
      for (const field of unusedFields) {
        const text = `${resource}: without effect on gRPC clients: ${field}`;
        const position = locate(field);
        warnings.push({ rule: 'unused-field', level: 'warning', position, resource, text });
      }
    }
  }
  return [...found, ...warnings];
}

const PATH = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\]|\["(?:[^"\\]|\\.)*"\])*(?=: | \(|$)/;
const STEP = /[A-Za-z_]\w*|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/g;

/** Reads the path at the start of a violation, such as `endpoints[0].locality: field not present`. */
function pathOf(text: string): readonly PathSegment[] {
  const path = PATH.exec(text)?.[0] ?? '';
  return [...path.matchAll(STEP)].map(([step, index, key]) => {
    if (index !== undefined) return Number(index);
    return key === undefined ? step : String(JSON.parse(key));
  });
}

/** Formats a finding as `file:line:column: text`. */
export function formatFinding(file: string, { level, position, text }: CheckFinding): string {
  const place = position === undefined ? '' : `:${position.line}:${position.column}`;
  return `${file}${place}: ${level === 'warning' ? 'warning: ' : ''}${text}`;
}
