// The commands of this repository, which scripts/run.mjs runs. `npm run help` prints them.

const typescript = 'node --require ./test/support/run-typescript.cjs';

/**
 * Each command: what it does, and its command line, to which arguments are added; or, in `choices`, one of several by its first
 * argument. `needs` is what it needs besides installed packages: `dist` (a build) or `types` (a build with declarations).
 * `also` is a folder whose own packages are installed.
 */
export const commands = {
  test: {
    about: 'run every test that needs only Node.js',
    // There are more processes than cores, so threads that collect garbage beside them are only overhead.
    run: 'node --single-threaded-gc --max-semi-space-size=64 node_modules/jest/bin/jest.js',
  },
  browser: {
    about: 'test the live page in Chromium',
    run: 'jest --config jest.browser.config.cjs',
  },
  demo: {
    about: 'run a control plane, five backends and a client',
    needs: 'dist',
    run: 'node packages/cli/dist/main.js demo',
  },
  check: {
    about: 'run everything else a change must pass; -- lint size runs these steps only',
    run: 'node scripts/check.mjs',
  },
  build: {
    about: 'build dist/; -- --tree DIR writes the library there, a file for each module',
    run: 'node scripts/build.mjs',
  },
  generate: {
    about: 'write the code and the schemas that come from protos/',
    run: 'node scripts/generate.mjs && node scripts/schemas.mjs && node scripts/fields.mjs',
  },
  format: { about: 'format every file', run: 'prettier --write --log-level warn .' },
  lint: { about: 'run ESLint', run: 'eslint .' },
  typecheck: {
    about: 'check the types of the sources and the tests',
    run: 'tsc --noEmit -p test/tsconfig.json',
  },
  update: {
    about: 'write what is checked in: -- api, limits, reference, size, screenshots or repository',
    choices: {
      api: { about: 'API reports and declarations', run: 'node scripts/api.mjs --update' },
      limits: { about: 'the tables of docs/limits.md', run: 'node scripts/limits.mjs' },
      reference: { about: 'docs/reference', run: 'node scripts/reference.mjs' },
      size: { about: 'etc/size.json, after a build', run: 'node scripts/size.mjs --update' },
      screenshots: {
        about: 'docs/images',
        run: `${typescript} test/browser/screenshots.ts && node scripts/terminal-picture.mjs`,
      },
      repository: {
        about: 'the address of the repository in package.json',
        run: 'node scripts/repository.mjs',
      },
    },
  },
  bench: {
    about: 'measure beside the official package; -- start, rpc, eds and others',
    needs: 'dist',
    run: 'node bench/main.mjs',
  },
  trial: {
    about: 'run a long test: -- chaos, property, fuzz, tls-matrix, failures, day, soak or flip',
    choices: {
      chaos: {
        about: 'a control plane that breaks in every known way, under load',
        run: `${typescript} test/chaos/main.ts`,
      },
      property: {
        about: 'random configurations against an oracle',
        run: `${typescript} test/property/run-property.ts`,
      },
      fuzz: {
        about: 'hostile bytes in everything that is read',
        run: `node --expose-gc --require ./test/support/run-typescript.cjs test/fuzz/run-fuzz.ts`,
      },
      'tls-matrix': {
        about: 'some 700 cases of transport security',
        run: `${typescript} test/tls-matrix/run-tls-matrix.ts`,
      },
      failures: {
        about: 'the statuses and log lines of 47 failures; --check compares',
        run: `${typescript} test/failures/run-failures.ts`,
      },
      day: {
        about: 'a live page that is open for a day, 60 times as fast',
        run: `${typescript} --require ./test/support/quiet-grpc.ts test/browser/run-day.ts`,
      },
      soak: {
        about: 'calls for hours',
        run: `${typescript} test/e2e/children/soak.ts`,
      },
      flip: {
        about: 'a configuration that flips under load',
        run: `${typescript} test/e2e/children/config-flip.ts`,
      },
    },
  },
  interop: {
    about: "run the cases of gRPC's xDS interoperability tests",
    needs: 'dist',
    run: 'node interop/run.mjs',
  },
  'interop:cross': {
    about: 'run against grpc-go, C-core, grpc-java and go-control-plane',
    needs: 'dist',
    run: 'node interop/cross/run.mjs',
  },
  kubernetes: {
    about: 'run the controller with a real API server, pods and clients',
    needs: 'dist',
    run: `${typescript} test/kubernetes/main.ts`,
  },
  bundlers: {
    about: 'build an application with esbuild, Rollup, Vite and others',
    needs: 'dist',
    also: 'bundlers',
    run: 'node bundlers/run.mjs',
  },
  examples: {
    about: 'run applications with NestJS, nice-grpc, Jest and others',
    needs: 'types',
    run: 'node examples/run.mjs',
  },
  matrix: {
    about: 'run on other versions of Node.js, runtimes and package managers',
    needs: 'dist',
    run: 'node scripts/matrix.mjs',
  },
  docs: {
    about: 'build the site of the documents and check it; -- start.md follows one page',
    needs: 'types',
    run: `${typescript} test/docs/run-docs.ts`,
  },
  release: { about: 'write a version into the files', run: 'node scripts/release.mjs' },
  help: { about: 'print this list', run: '' },
};
