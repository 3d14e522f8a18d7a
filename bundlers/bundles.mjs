import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

// The configurations are those of docs/runtimes.md: keep them the same.

const require = createRequire(import.meta.url);

/** CommonJS inside an ES module has to require the modules of Node; esbuild gives it no `require`. */
const ESM_BANNER =
  "import { createRequire } from 'node:module'; import { dirname } from 'node:path'; " +
  "import { fileURLToPath } from 'node:url'; const require = createRequire(import.meta.url); " +
  'const __filename = fileURLToPath(import.meta.url); const __dirname = dirname(__filename);';

const HOST = '@grpc/grpc-js';

async function withEsbuild({ input, output, format, external }) {
  const esbuild = await import('esbuild');
  await esbuild.build({
    entryPoints: [input],
    outfile: output,
    bundle: true,
    platform: 'node',
    format,
    external,
    logLevel: 'silent',
    ...(format === 'esm' && { banner: { js: ESM_BANNER } }),
  });
}

async function withRollup({ input, output, format, external }) {
  const { rollup } = await import('rollup');
  const { nodeResolve } = await import('@rollup/plugin-node-resolve');
  const { default: commonjs } = await import('@rollup/plugin-commonjs');
  const { default: json } = await import('@rollup/plugin-json');
  const bundle = await rollup({
    input,
    external,
    plugins: [nodeResolve({ preferBuiltins: true }), commonjs(), json()],
    onwarn: () => {},
  });
  await bundle.write({ file: output, format, inlineDynamicImports: true });
}

async function withRolldown({ input, output, format, external }) {
  const { build } = await import('rolldown');
  await build({
    input,
    external,
    platform: 'node',
    output: { file: output, format },
    logLevel: 'silent',
  });
}

async function withVite({ input, output, format, external }) {
  const { build } = await import('vite');
  await build({
    configFile: false,
    logLevel: 'silent',
    root: dirname(input),
    ssr: { noExternal: true, external },
    build: {
      ssr: input,
      outDir: dirname(output),
      rolldownOptions: { output: { format, entryFileNames: output.split(/[\\/]/).at(-1) } },
    },
  });
}

async function withWebpack({ input, output, format, external }) {
  const { default: webpack } = await import('webpack');
  const isModule = format === 'esm';
  const compiler = webpack({
    mode: 'production',
    target: 'node20',
    entry: input,
    externals: external.map((name) => ({ [name]: `${isModule ? 'module' : 'commonjs'} ${name}` })),
    output: {
      path: dirname(output),
      filename: output.split(/[\\/]/).at(-1),
      ...(isModule && { module: true, chunkFormat: 'module', library: { type: 'module' } }),
    },
    ...(isModule && { experiments: { outputModule: true } }),
  });
  const stats = await new Promise((resolve, reject) =>
    compiler.run((error, result) => (error ? reject(error) : resolve(result))),
  );
  await new Promise((resolve) => compiler.close(resolve));
  if (stats.hasErrors()) throw new Error(stats.toString({ all: false, errors: true }));
}

async function withNcc({ input, output, external }) {
  const ncc = require('@vercel/ncc');
  const { code, assets } = await ncc(input, { externals: external, quiet: true });
  writeFileSync(output, code);
  for (const [name, { source }] of Object.entries(assets)) {
    const path = join(dirname(output), name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, source);
  }
}

/** @returns the version of an installed package. */
export function versionOf(name) {
  const manifest = new URL(`node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(manifest, 'utf8')).version;
}

const inside = { host: 'bundled', external: [] };
const outside = { host: 'external', external: [HOST] };

/** Every bundle that is made: the bundler, the format and whether grpc-js is part of it. */
export const bundles = [
  { bundler: 'esbuild', bundle: withEsbuild, format: 'cjs', ...inside },
  { bundler: 'esbuild', bundle: withEsbuild, format: 'cjs', ...outside },
  { bundler: 'esbuild', bundle: withEsbuild, format: 'esm', ...inside },
  { bundler: 'rollup', bundle: withRollup, format: 'cjs', ...inside },
  { bundler: 'rollup', bundle: withRollup, format: 'esm', ...inside },
  { bundler: 'rollup', bundle: withRollup, format: 'esm', ...outside },
  { bundler: 'rolldown', bundle: withRolldown, format: 'cjs', ...inside },
  { bundler: 'rolldown', bundle: withRolldown, format: 'esm', ...inside },
  { bundler: 'vite', bundle: withVite, format: 'esm', ...inside },
  { bundler: 'vite', bundle: withVite, format: 'esm', ...outside },
  { bundler: 'webpack', bundle: withWebpack, format: 'cjs', ...inside },
  { bundler: 'webpack', bundle: withWebpack, format: 'esm', ...inside },
  { bundler: '@vercel/ncc', bundle: withNcc, format: 'esm', ...inside },
];
