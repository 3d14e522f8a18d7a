// The TypeScript source of each entry of the packages of this repository, by its name: `grpc-xds/server`.
const { readdirSync } = require('node:fs');
const { join } = require('node:path');

const root = join(__dirname, '../..');
const folders = [
  root,
  ...readdirSync(join(root, 'packages')).map((name) => join(root, 'packages', name)),
];

exports.packageSources = new Map(
  folders.flatMap((folder) => {
    const { name, exports: entries } = require(join(folder, 'package.json'));
    return Object.entries(entries).flatMap(([path, { default: built }]) => {
      if (built === undefined) return [];
      const source = built.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts');
      return [[path.replace(/^\./, name), join(folder, source)]];
    });
  }),
);
