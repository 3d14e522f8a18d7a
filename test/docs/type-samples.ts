import { join } from 'node:path';
import * as ts from 'typescript';
import { ROOT, type Sample } from './pages';
import { SAMPLE_NAMES } from './sample-names';

/** Where the samples would be: inside the package, so that its name leads to its own build. */
const FOLDER = join(ROOT, 'build', 'samples');
const NAMES = join(FOLDER, 'names.d.ts');

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.Node16,
  moduleResolution: ts.ModuleResolutionKind.Node16,
  types: ['node', 'jest'],
  strict: true,
  esModuleInterop: true,
  skipLibCheck: true,
  noEmit: true,
  allowJs: true,
  checkJs: true,
};

/** What a program in JavaScript cannot declare: types of parameters, of variables, and of what it loads from a proto. */
const UNTYPED: ReadonlySet<number> = new Set([7005, 7006, 7031, 7034, 2339]);

/** The samples that are programs. */
export function isProgram({ language }: Sample): boolean {
  return ['ts', 'js', 'typescript', 'javascript'].includes(language);
}

/**
 * Compiles programs against the declarations in `dist`, as modules of their own.
 *
 * @returns the errors, each as `file:line: text`, with the line of the page.
 */
export function typeErrors(samples: readonly Sample[]): readonly string[] {
  const files = new Map(
    samples.map((sample, i) => {
      const extension = sample.language.startsWith('t') ? 'mts' : 'mjs';
      return [join(FOLDER, `sample-${i}.${extension}`), sample];
    }),
  );
  const host = ts.createCompilerHost(OPTIONS);
  const { fileExists, readFile } = host;
  host.fileExists = (path) => path === NAMES || files.has(path) || fileExists(path);
  host.readFile = (path) => {
    if (path === NAMES) return SAMPLE_NAMES;
    const sample = files.get(path);
    // Without an import or an export it would be a script, whose names every other one sees.
    return sample === undefined ? readFile(path) : `${sample.text}\nexport {};\n`;
  };
  const program = ts.createProgram([NAMES, ...files.keys()], OPTIONS, host);
  return ts
    .getPreEmitDiagnostics(program)
    .filter(({ file, code }) => !(file?.fileName.endsWith('js') === true && UNTYPED.has(code)))
    .map((diagnostic) => describe(diagnostic, files));
}

function describe(
  { file, start = 0, messageText }: ts.Diagnostic,
  files: ReadonlyMap<string, Sample>,
): string {
  const text = ts.flattenDiagnosticMessageText(messageText, ' ');
  const sample = files.get(file?.fileName ?? '');
  const line = file?.getLineAndCharacterOfPosition(start).line ?? 0;
  if (sample !== undefined) return `${sample.page}:${sample.line + line}: ${text}`;
  return `${file?.fileName ?? 'the compiler'}:${line + 1}: ${text}`;
}
