// Prints the modules of this package that a process has loaded, each in a line, when it ends.
const { join, relative, sep } = require('node:path');

const root = join(__dirname, '../..');

process.on('exit', () => {
  const loaded = Object.keys(require.cache).map((path) =>
    relative(root, path).split(sep).join('/'),
  );
  const own = loaded.filter((path) => path.startsWith('src/'));
  process.stdout.write(`\n${own.join('\n')}\n`);
});
