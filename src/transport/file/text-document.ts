import type { JsonProblem } from '../../proto-json/json-problem';
import type * as YamlReading from '../../proto-json/yaml-document';
import { err, ok, type Result } from '../../util/result';

/** A text with a value in it. */
export interface TextDocument {
  /** As `JSON.parse` would return it. */
  readonly value: unknown;
  /** Where a problem is, as `line:column`; empty if that is not known. */
  locate(problem: JsonProblem): string;
}

/** Reads YAML, of which JSON is a part. @returns the document, or each mistake as `line:column: reason`. */
export function openYaml(text: string): Result<TextDocument, readonly string[]> {
  const document = loadYaml().YamlDocument.parse(text);
  const { value, mistakes } = document;
  if (mistakes.length > 0) {
    return err(
      mistakes.map(({ position: { line, column }, reason }) => `${line}:${column}: ${reason}`),
    );
  }
  return ok({
    value,
    locate({ path, key }) {
      const { line, column } = document.locate(key === undefined ? path : [...path, key]);
      return `${line}:${column}`;
    },
  });
}

/** Loaded for files in YAML, and to find the place of what is wrong with one in JSON. */
function loadYaml(): typeof YamlReading {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- the only way to load a module late without waiting for it; the type is that of the module
  return require('../../proto-json/yaml-document');
}
