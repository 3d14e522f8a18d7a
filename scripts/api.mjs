// Writes the declarations of each entry of the package as one file in dist/, and compares the public API with the reports
// in etc/. With `--update`, the reports are written instead; with `--declarations`, they are left alone, since a change of
// the API must not keep `npm install` from building.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';
import { packages, root } from './packages.mjs';

const localBuild = process.argv.includes('--update');
const isReported = !process.argv.includes('--declarations');

execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.types.json'], {
  cwd: root,
  stdio: 'inherit',
});

/** Extracts one entry. @returns whether its report is up to date. */
function extract({ folder }, { path, types }) {
  const config = join(root, 'api-extractor.json');
  const configObject = ExtractorConfig.loadFile(config);
  const declarations = join(folder, types);
  const name = path === '.' ? (folder === '.' ? 'grpc-xds' : basename(folder)) : path.slice(2);
  configObject.mainEntryPointFilePath = join(
    root,
    'build/types',
    declarations.replace(/\bdist\b/, 'src'),
  );
  configObject.apiReport.enabled = isReported;
  configObject.apiReport.reportFileName = `${name}.api.md`;
  configObject.dtsRollup.untrimmedFilePath = join(root, declarations);
  const { succeeded } = Extractor.invoke(
    ExtractorConfig.prepare({
      configObject,
      configObjectFullPath: config,
      packageJsonFullPath: join(root, folder, 'package.json'),
    }),
    {
      localBuild,
      // Without a report, messages are about what it would have.
      messageCallback: (message) => (message.handled ||= !isReported),
    },
  );
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

// The library comes first: the declarations of the others import its own.
const results = packages.flatMap((pkg) =>
  pkg.entries.filter(({ types }) => types !== undefined).map((entry) => extract(pkg, entry)),
);
process.exitCode = !isReported || results.every(Boolean) ? 0 : 1;
