import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { TextPosition } from '../control-plane';

/** A rule that a resource file can break. */
export type CheckRule =
  'unreadable' | 'syntax' | 'schema' | 'reference' | 'nack' | 'unused-field' | 'envoy-field';

/** An error or a warning about a resource file. */
export interface CheckFinding {
  readonly rule: CheckRule;
  readonly level: 'error' | 'warning';
  readonly position?: TextPosition | undefined;
  /** Such as `cluster "shop"`. */
  readonly resource?: string;
  readonly text: string;
}

const rules: Readonly<Record<CheckRule, string>> = {
  unreadable: 'The file cannot be read.',
  syntax: 'The text is not YAML or JSON.',
  schema: 'A resource does not have the form of its type.',
  reference: 'A resource refers to one that the file does not have.',
  nack: 'gRPC clients reject the resource (NACK).',
  'unused-field': 'The field has no effect on gRPC clients.',
  'envoy-field': 'Only Envoy reads the field; gRPC clients drop it.',
};

/**
 * Writes findings as a SARIF log, which code hosts and editors show beside the lines of the file
 * (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html).
 */
export function toSarif(file: string, findings: readonly CheckFinding[], version: string): object {
  const ids = Object.keys(rules);
  const uri = isAbsolute(file) ? pathToFileURL(file).href : encodeURI(file.replaceAll('\\', '/'));
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            ...{ name: 'grpc-xds', semanticVersion: version },
            rules: Object.entries(rules).map(([id, text]) => ({ id, shortDescription: { text } })),
          },
        },
        columnKind: 'utf16CodeUnits',
        results: findings.map((finding) => ({
          ...{ ruleId: finding.rule, ruleIndex: ids.indexOf(finding.rule), level: finding.level },
          message: { text: finding.text },
          locations: [{ physicalLocation: { artifactLocation: { uri }, ...regionOf(finding) } }],
        })),
      },
    ],
  };
}

function regionOf({ position }: CheckFinding): object {
  if (position === undefined) return {};
  return { region: { startLine: position.line, startColumn: position.column } };
}
