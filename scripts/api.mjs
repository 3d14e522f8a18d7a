// Writes the declarations of each entry of the package as one file in dist/, and compares the public API with the reports
// in etc/. With `--update`, the reports are written instead; with `--declarations`, they are left alone, since a change of
// the API must not keep `npm install` from building.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';

const root = fileURLToPath(new URL('..', import.meta.url));
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const localBuild = process.argv.includes('--update');
const isReported = !process.argv.includes('--declarations');

execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.types.json'], {
  cwd: root,
  stdio: 'inherit',
});

/** Extracts one entry. @returns whether its report is up to date. */
function extract(name, declarations) {
  const path = join(root, 'api-extractor.json');
  const configObject = ExtractorConfig.loadFile(path);
  const inside = declarations.replace(/^\.\/dist\//, '');
  configObject.mainEntryPointFilePath = join(root, 'build/types', inside);
  configObject.apiReport.enabled = isReported;
  configObject.apiReport.reportFileName = `${name}.api.md`;
  configObject.dtsRollup.untrimmedFilePath = join(root, declarations);
  const config = ExtractorConfig.prepare({
    configObject,
    configObjectFullPath: path,
    packageJsonFullPath: join(root, 'package.json'),
  });
  const { succeeded } = Extractor.invoke(config, {
    localBuild,
    // Without a report, messages are about what it would have.
    messageCallback: (message) => (message.handled ||= !isReported),
  });
  indent(declarations);
  return succeeded;
}

/** Indents by one space instead of four, as the code of the package is. */
function indent(declarations) {
  const path = join(root, declarations);
  const changed = readFileSync(path, 'utf8').replace(/^(?: {4})+/gm, (spaces) =>
    ' '.repeat(spaces.length / 4),
  );
  writeFileSync(path, changed);
}

const results = Object.entries(exports)
  .filter(([, target]) => target.types !== undefined)
  .map(([path, { types }]) => extract(path === '.' ? 'grpc-xds' : path.slice(2), types));
process.exitCode = !isReported || results.every(Boolean) ? 0 : 1;
