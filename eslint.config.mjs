// What the compiler cannot see. The import ranks are in .dependency-cruiser.cjs, layout is Prettier's.
import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import regexp from 'eslint-plugin-regexp';
import tseslint from 'typescript-eslint';
import { boundedArguments } from './scripts/eslint/bounded-arguments.mjs';
import { codedErrors, plainErrors } from './scripts/eslint/coded-errors.mjs';
import { describedDisable } from './scripts/eslint/described-disable.mjs';
import { containedFiles, hostCallbacks } from './scripts/eslint/host-callbacks.mjs';
import { lazyModules } from './scripts/eslint/lazy-modules.mjs';
import { ownTimers } from './scripts/eslint/own-timers.mjs';

const companions = 'packages/*/src/**/*.ts';
const typescript = ['src/**/*.ts', companions, 'test/**/*.ts'];
const plain = ['**/*.mjs', '**/*.cjs', '**/*.js'];

// Only these files may ask for the time, a random number or the environment; the rest gets them
// passed in, so that tests decide them.
const sources = [
  'src/util/clock.ts',
  'src/util/random.ts',
  'src/util/feature-flags.ts',
  'src/util/grpc-js-variables.ts',
  'src/grpc-js/grpc-logger.ts',
  'src/bootstrap/load-bootstrap.ts',
  'packages/cli/src/**/*.ts',
];
const injectedGlobals = [
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
  'performance',
].map((name) => ({ name, message: 'Take a Clock instead.' }));
const injectedProperties = [
  { object: 'Date', property: 'now', message: 'Take a Clock instead.' },
  { object: 'process', property: 'nextTick', message: 'Take a Clock instead.' },
  { object: 'process', property: 'hrtime', message: 'Take a Clock instead.' },
  { object: 'Math', property: 'random', message: 'Take a Random instead.' },
  {
    object: 'process',
    property: 'env',
    message: 'Only feature-flags and load-bootstrap read the environment; take the value instead.',
  },
];
// Of a process that was stopped, timers run out before what has arrived meanwhile is read.
const peerTimers = [
  {
    property: 'setTimer',
    message:
      'Conclude something about a peer by afterRunning; list a timer that concludes nothing in scripts/eslint/own-timers.mjs.',
  },
];
const injectedModules = ['node:timers', 'timers', 'node:timers/promises', 'timers/promises'].map(
  (name) => ({ name, message: 'Take a Clock instead.' }),
);

// A FIFO, a device or a huge file must not stop the process.
const guardedFiles = [
  [
    'node:fs',
    [
      'readFileSync',
      'readFile',
      'createReadStream',
      'openSync',
      'open',
      'readSync',
      'read',
      'openAsBlob',
      'promises',
    ],
  ],
  ['node:fs/promises', ['readFile', 'open']],
].map(([name, importNames]) => ({ name, importNames, message: 'Call readRegularFile instead.' }));
const restrictedModules = [
  ...injectedModules,
  ...guardedFiles,
  ...['fs', 'fs/promises'].map((name) => ({ name, message: 'Import from node:fs instead.' })),
];

const noDefaultExport = {
  selector: 'ExportDefaultDeclaration, ExportSpecifier[exported.name="default"]',
  message: 'Export by name.',
};
const currentDate = {
  selector: 'NewExpression[callee.name="Date"][arguments.length=0]',
  message: 'Take a Clock instead.',
};
const unlimitedServer = {
  selector: 'NewExpression[callee.name="Server"]',
  message: 'Serve by a ServiceHost, which limits what clients may do.',
};
// A type guard is where an assertion belongs: its result is checked by the code around it.
const guard = ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']
  .map((kind) => `${kind}[returnType.typeAnnotation.type="TSTypePredicate"]`)
  .join(', ');
const noAssertion = {
  selector:
    ':matches(TSAsExpression, TSTypeAssertion)' +
    ':not([typeAnnotation.typeName.name="const"])' +
    `:not(:matches(${guard}) *)`,
  message:
    'No `as`: narrow with a type guard. At the grpc-js border, disable this line with a reason.',
};
// Overriding is for the filters, whose methods the host library made asynchronous.
const noAsync = {
  selector: ':function[async=true]:not(MethodDefinition[override=true] > *)',
  message: 'The control path is synchronous: go through the serial queue.',
};

export default defineConfig(
  {
    ignores: [
      '**/node_modules/',
      '**/dist/',
      'build/',
      'coverage/',
      'temp/',
      'src/wire/generated/',
      'packages/page/src/generated/',
      'examples/*/generated/',
    ],
  },
  {
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    plugins: {
      local: {
        rules: {
          'bounded-arguments': boundedArguments,
          'coded-errors': codedErrors,
          'described-disable': describedDisable,
          'host-callbacks': hostCallbacks,
          'lazy-modules': lazyModules,
        },
      },
    },
    rules: { 'local/described-disable': 'error' },
  },

  // TypeScript, library and tests.
  {
    files: typescript,
    extends: [js.configs.recommended, tseslint.configs.strictTypeChecked],
    // One program for all: tests import the sources, whose types would be found twice.
    languageOptions: {
      parserOptions: { project: 'test/tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      'prefer-const': 'error',
      'no-console': 'error',
      eqeqeq: 'error',
      'no-unused-expressions': 'off',
      '@typescript-eslint/no-unused-expressions': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      // A default that somebody wrote is a decision; `assertNever` in it makes the compiler complain.
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/restrict-plus-operands': 'error',
      '@typescript-eslint/prefer-readonly': 'error',
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/consistent-type-exports': 'error',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      // Parsers return the `undefined` of `violations.add(…)`; the rule takes the type `undefined` for `void`.
      '@typescript-eslint/no-confusing-void-expression': 'off',
      // `_` marks a parameter that an interface demands and this implementation ignores.
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
    },
  },

  // What is not a test: each way through a function is one that its reader follows.
  {
    files: ['src/**/*.ts', companions, 'packages/*/src/**/*.js', 'scripts/**/*.mjs'],
    // A switch counts once: it is a table.
    rules: { complexity: ['error', { max: 14, variant: 'modified' }] },
  },

  // The library and its companions.
  {
    files: ['src/**/*.ts', companions],
    rules: {
      'max-lines': ['error', { max: 500, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 80, skipBlankLines: true, skipComments: true }],
      'max-depth': ['error', 4],
      'local/bounded-arguments': 'error',
      '@typescript-eslint/no-require-imports': 'off',
      'local/lazy-modules': 'error',
      'no-restricted-syntax': ['error', noDefaultExport, currentDate, noAssertion, unlimitedServer],
      'no-restricted-globals': ['error', ...injectedGlobals],
      'no-restricted-properties': ['error', ...injectedProperties, ...peerTimers],
      'no-restricted-imports': [
        'error',
        {
          paths: [
            ...restrictedModules,
            { name: '@grpc/grpc-js', message: 'Import from src/grpc-js instead.' },
          ],
        },
      ],
    },
  },
  {
    // Texts come from servers, files and calls: how long one is looked at grows with its length alone.
    files: ['src/**/*.ts', companions, 'packages/*/src/**/*.js'],
    plugins: { regexp },
    rules: {
      'regexp/no-super-linear-backtracking': 'error',
      'regexp/no-super-linear-move': 'error',
    },
  },
  {
    files: ['xds-client', 'dependency-manager', 'lb', 'resolver', 'routing'].map(
      (folder) => `src/${folder}/**/*.ts`,
    ),
    // Files are written beside the control path.
    ignores: ['src/xds-client/saved-snapshot/**'],
    rules: {
      'no-restricted-syntax': ['error', noDefaultExport, currentDate, noAssertion, noAsync],
    },
  },
  {
    files: ['src/grpc-js/**/*.ts'],
    rules: { 'no-restricted-imports': ['error', { paths: restrictedModules }] },
  },
  {
    // These speak to grpc-js itself, through its stable interface.
    files: ['src/control-plane/**/*.ts', 'src/orca/**/*.ts', companions],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: [
            ...restrictedModules,
            {
              name: '@grpc/grpc-js',
              importNames: ['experimental'],
              message: 'Only src/grpc-js names `experimental`.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['src/**/*.ts', companions],
    ignores: [
      ...['grpc-js', 'testing', 'wire/generated'].map((folder) => `src/${folder}/**`),
      ...Object.keys(containedFiles),
    ],
    rules: { 'local/host-callbacks': 'error' },
  },
  {
    files: ['src/**/*.ts', companions],
    ignores: [
      ...Object.keys(plainErrors),
      'src/util/xds-error.ts',
      // What these throw is for the application, whatever else is in their folders.
      ...['lb/custom/custom-policies', 'security/client/xds-channel-credentials'].map(
        (file) => `!src/${file}.ts`,
      ),
    ],
    rules: { 'local/coded-errors': 'error' },
  },
  {
    files: Object.keys(ownTimers),
    rules: { 'no-restricted-properties': ['error', ...injectedProperties] },
  },
  {
    files: sources,
    rules: {
      'no-restricted-syntax': ['error', noDefaultExport, noAssertion, unlimitedServer],
      'no-restricted-globals': 'off',
      'no-restricted-properties': ['error', ...peerTimers],
    },
  },
  {
    files: Object.keys(ownTimers).filter((file) =>
      /^(?:packages\/cli\/|src\/util\/clock\.ts)/.test(file),
    ),
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    files: ['packages/cli/src/**/*.ts'],
    rules: { 'no-console': 'off' },
  },

  // Tests say what they expect at length, and Jest's matchers and JSON are `any`.
  {
    files: ['test/**/*.ts'],
    rules: {
      'no-restricted-syntax': ['error', noDefaultExport],
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      // A flag that a callback changes looks constant to the compiler.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/use-unknown-in-catch-callback-variable': 'off',
      '@typescript-eslint/no-empty-function': 'off',
    },
  },

  // Scripts, benchmarks, examples and configuration.
  {
    files: plain,
    extends: [js.configs.recommended],
    languageOptions: {
      globals: Object.fromEntries(
        [
          'AbortController',
          'AbortSignal',
          'Buffer',
          'TextDecoder',
          'TextEncoder',
          'URL',
          'clearImmediate',
          'clearInterval',
          'clearTimeout',
          'console',
          'fetch',
          'global',
          'performance',
          'process',
          'queueMicrotask',
          'setImmediate',
          'setInterval',
          'setTimeout',
          'structuredClone',
        ].map((name) => [name, 'readonly']),
      ),
    },
    rules: { 'prefer-const': 'error', eqeqeq: 'error' },
  },
  {
    // The files of the live page run in a browser.
    files: ['packages/page/src/live-page/assets/*.js'],
    languageOptions: {
      globals: Object.fromEntries(
        [
          'ResizeObserver',
          'TextDecoderStream',
          'URLSearchParams',
          'document',
          'history',
          'location',
          'navigator',
        ].map((name) => [name, 'readonly']),
      ),
    },
  },
  {
    files: ['**/*.cjs'],
    languageOptions: {
      sourceType: 'commonjs',
      globals: Object.fromEntries(
        ['__dirname', '__filename', 'exports', 'module', 'require'].map((name) => [
          name,
          'readonly',
        ]),
      ),
    },
  },
);
