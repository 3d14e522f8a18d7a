import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { FakeIo } from './fake-io';

const OLD = '@grpc/grpc-js-xds';
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'grpc-xds-migrate-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function put(files: Readonly<Record<string, string | Buffer>>): void {
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}

const get = (name: string): string => readFileSync(join(folder, name), 'utf8');

async function run(...args: readonly string[]) {
  const io = new FakeIo();
  io.folder = folder;
  const code = await io.run('migrate', ...args);
  return { code, out: io.out, errors: io.errors };
}

/** What `--write` makes of one file. */
async function migrated(text: string, name = 'a.ts'): Promise<string> {
  put({ [name]: text });
  await run('--write');
  return get(name);
}

describe('grpc-xds migrate', () => {
  it.each([
    [`import * as xds from '${OLD}';\nxds.register();`],
    [`import { register } from "${OLD}";`],
    [`import '${OLD}';`],
    [`import type { XdsChannelCredentials } from '${OLD}';`],
    [`import xds = require('${OLD}');`],
    [`import { type XdsChannelCredentials as C, register } from '${OLD}';`],
    [`export * from '${OLD}';`],
    [`export { register } from '${OLD}';`],
    [`const { register } = require('${OLD}');`],
    [`require(/* the mesh */ '${OLD}').register();`],
    [`const path = require.resolve('${OLD}');`],
    [`const xds = await import('${OLD}');`],
    [`import(\`${OLD}\`).then(({ register }) => register());`],
    [`type Xds = typeof import('${OLD}');`],
    [`jest.mock('${OLD}', () => ({ register: jest.fn() }));`],
    [`jest.mock<typeof import('${OLD}')>('${OLD}', () => ({ register() {} }));`],
    [`vi.mock('${OLD}'); vi.importActual('${OLD}'); jest.requireActual('${OLD}');`],
    [`mock.module('${OLD}', { namedExports: {} });`],
    [`/** @type {import('${OLD}').XdsChannelCredentials} */\nlet credentials;`],
    [`/// <reference types="${OLD}" />`],
  ])('changes the name of the module in %s', async (text) => {
    expect(await migrated(text)).toBe(text.replaceAll(OLD, 'grpc-xds'));
  });

  it.each([
    ['a comment', `// import '${OLD}' came first`],
    ['a text', `console.log('see ${OLD}');`],
    ['a list', `export const external = ['${OLD}'];`],
    ['a template with substitutions', 'const a = `${b}' + OLD + '`;'],
    ['a regular expression', `const pattern = /from '@grpc\\/grpc-js-xds'/;`],
    ['a file inside of the package', `import { Route } from '${OLD}/build/src/route';`],
    ['a longer name', `import a from '${OLD}-extra';`],
  ])('leaves %s alone', async (_what, text) => {
    expect(await migrated(text)).toBe(text);
  });

  it.each([
    ['an apostrophe in JSX', `const a = <p>Don't</p>;\n`],
    ['a regular expression with a quote', `const a = b.replace(/'/g, '');\nif (a) /"/.test(a);\n`],
    ['a division', 'const a = (b) / 2; const c = "/";\n'],
    ['nested templates', "const a = `${b.map((c) => `'${{ d: '}' }.d}`)}`;\n"],
    ['an open quote in a comment', "/* don't */ // can't\n"],
    ['a class of a regular expression', 'const a = [/[/"]/, `$`];\n'],
  ])('finds an import after %s', async (_what, before) => {
    const text = `${before}import { register } from '${OLD}';\n`;
    expect(await migrated(text, 'a.tsx')).toBe(text.replace(OLD, 'grpc-xds'));
  });

  it('changes the channel option', async () => {
    const old = `new Client(a, b, { 'grpc.TEST_ONLY_DO_NOT_USE_IN_PROD.xds_bootstrap_config': text });`;
    expect(await migrated(old)).toBe(`new Client(a, b, { 'grpc_xds.bootstrap': text });`);
  });

  it('keeps line ends, the mark of UTF-8, the mode and everything else', async () => {
    put({ 'a.js': `\ufeff#!/usr/bin/env node\r\nimport '${OLD}';\r\n\tx()` });
    chmodSync(join(folder, 'a.js'), 0o755);
    expect((await run('-w')).code).toBe(0);
    expect(get('a.js')).toBe(`\ufeff#!/usr/bin/env node\r\nimport 'grpc-xds';\r\n\tx()`);
    expect(statSync(join(folder, 'a.js')).mode & 0o777).toBe(0o755);
  });

  it('writes nothing without --write, and ends with 1 while there is something to do', async () => {
    const text = `import '${OLD}';\n`;
    put({ 'src/a.ts': text });
    const dry = await run();
    expect(dry).toMatchObject({ code: 1, errors: [] });
    expect(dry.out[0]).toBe(`change   src/a.ts:1  ${OLD} -> grpc-xds`);
    expect(get('src/a.ts')).toBe(text);
    expect((await run('src', '--write')).code).toBe(0);
    expect(await run()).toMatchObject({
      code: 0,
      out: [`nothing to change: no file uses ${OLD}`],
    });
  });

  it('refuses a path that is not there', async () => {
    const { code, errors } = await run('nowhere');
    expect(code).toBe(2);
    expect(errors.join()).toMatch(/: cannot be read: ENOENT/);
  });

  it('does not enter node_modules, .git, ignored folders, links, or binary and huge files', async () => {
    const text = `import '${OLD}';\n`;
    const elsewhere = mkdtempSync(join(tmpdir(), 'grpc-xds-outside-'));
    writeFileSync(join(elsewhere, 'a.ts'), text);
    const files = {
      'node_modules/a/a.js': text,
      'packages/b/node_modules/a/a.js': text,
      '.git/hooks/a.js': text,
      'lib/a.js': text,
      'package-lock.json': `{ "packages": { "node_modules/${OLD}": {} } }`,
      'binary.js': Buffer.from(`\0${text}`),
      'latin.js': Buffer.from(`// \xe9\n${text}`, 'latin1'),
      'huge.js': text + ' '.repeat(1024 * 1024),
    };
    put({ ...files, '.gitignore': 'lib/\n*.log\n' });
    symlinkSync(elsewhere, join(folder, 'linked'));
    symlinkSync(join(elsewhere, 'a.ts'), join(folder, 'linked.ts'));
    const { code } = await run('--write');
    expect(code).toBe(0);
    for (const [name, before] of Object.entries(files))
      expect([name, readFileSync(join(folder, name)).equals(Buffer.from(before))]).toEqual([
        name,
        true,
      ]);
    expect(readFileSync(join(elsewhere, 'a.ts'), 'utf8')).toBe(text);
    rmSync(elsewhere, { recursive: true });
  });

  it('prints JSON', async () => {
    put({ 'a.ts': `\nimport '${OLD}';` });
    const { out } = await run('--json');
    expect(JSON.parse(out.join('\n'))).toEqual({
      written: false,
      changes: [{ file: 'a.ts', line: 2, message: `${OLD} -> grpc-xds` }],
      byHand: [],
    });
  });

  // The superuser may write to any file.
  (process.getuid?.() === 0 ? it.skip : it)('reports what it could not write', async () => {
    put({ 'a.ts': `import '${OLD}';` });
    chmodSync(join(folder, 'a.ts'), 0o444);
    const { code, out } = await run('--write');
    expect(code).toBe(1);
    expect(out[0]).toContain('not written: EACCES');
  });
});

const SERVER = 'grpc-xds/server';

describe('grpc-xds migrate, where there are servers', () => {
  it.each([
    [`import { XdsServer } from '${OLD}';`],
    [`import type { XdsServer } from '${OLD}';`],
    [`import {\n  XdsServer,\n  type XdsServerCredentials as C,\n} from "${OLD}";`],
    [`export { XdsServer as Server } from '${OLD}';`],
    [`const { XdsServerCredentials: C } = require('${OLD}');`],
    [`const { XdsServer } = await import('${OLD}');`],
    [`const Server = require('${OLD}').XdsServer;`],
    [`const Server = (await import('${OLD}')).XdsServer;`],
    [`let server: import('${OLD}').XdsServer;`],
    [`/** @type {import('${OLD}').XdsServer} */\nlet server;`],
    [`import * as xds from '${OLD}';\nnew xds.XdsServer();`],
    [`const xds = require('${OLD}');\nnew xds.XdsServerCredentials(new xds.XdsServer());`],
  ])('changes the name of the module in %s', async (text) => {
    expect(await migrated(text)).toBe(text.replaceAll(OLD, SERVER));
    expect((await run()).code).toBe(0);
  });

  it.each([
    [
      `import { register, XdsServer } from '${OLD}';\nregister();`,
      `import { register } from 'grpc-xds';\nimport { XdsServer } from '${SERVER}';\nregister();`,
    ],
    [
      `import type {\n  XdsServerCredentials as S,\n  XdsChannelCredentials as C,\n} from "${OLD}"\n`,
      `import type { XdsChannelCredentials as C } from "grpc-xds"\nimport type { XdsServerCredentials as S } from "${SERVER}"\n`,
    ],
    [
      `\tconst { XdsServer: S, register } = require('${OLD}');\r\n`,
      `\tconst { register } = require('grpc-xds');\r\n\tconst { XdsServer: S } = require('${SERVER}');\r\n`,
    ],
    [
      `const { register, XdsServer } = await import('${OLD}');`,
      `const { register } = await import('grpc-xds');\nconst { XdsServer } = await import('${SERVER}');`,
    ],
    [
      `import * as xds from '${OLD}';\nxds.register();\nnew xds.XdsServer();\nnew mesh.xds.XdsServer();`,
      `import * as xds from 'grpc-xds';\nimport * as xdsServer from '${SERVER}';\nxds.register();\nnew xdsServer.XdsServer();\nnew mesh.xds.XdsServer();`,
    ],
    [
      `import xds = require('${OLD}');\nxds.register(); let a: typeof xds.XdsServer;`,
      `import xds = require('grpc-xds');\nimport xdsServer = require('${SERVER}');\nxds.register(); let a: typeof xdsServer.XdsServer;`,
    ],
    [
      `import '${OLD}';\nimport { XdsServer } from '${OLD}';\nimport { register } from '${OLD}';\n`,
      `import 'grpc-xds';\nimport { XdsServer } from '${SERVER}';\nimport { register } from 'grpc-xds';\n`,
    ],
    [
      `export {}\nimport '${OLD}';\nconst { XdsServer } = require('${OLD}'), a = 1;`,
      `export {}\nimport 'grpc-xds';\nconst { XdsServer } = require('${SERVER}'), a = 1;`,
    ],
  ])('divides %s', async (text, expected) => {
    expect(await migrated(text)).toBe(expected);
    expect((await run()).code).toBe(0);
  });

  it.each([
    [`const xds = require('${OLD}');\nnew xds['XdsServer']();`],
    [`import * as xds from '${OLD}';\nxds.register();\nconst { XdsServer } = xds;`],
    [`import * as xds from '${OLD}';\nxds.register();\nconst xdsServer = new xds.XdsServer();`],
    [`import xds, { XdsServer } from '${OLD}';`],
    [`import {\n  register, // first\n  XdsServer,\n} from '${OLD}';`],
    [`const { XdsServer, ...rest } = require('${OLD}');`],
    [`const { XdsServer: { prototype }, register } = require('${OLD}');`],
    [`const a = 1, { XdsServer, register } = require('${OLD}');`],
    [`import('${OLD}').then(({ register, XdsServer }) => register());`],
    [`jest.mock('${OLD}', () => ({ XdsServer: jest.fn() }));`],
    [`export * from '${OLD}';\nlet XdsServer;`],
    [`export * as xds from '${OLD}';\nlet XdsServer;`],
  ])('leaves %s to be done by hand', async (text) => {
    put({ 'a.ts': text });
    const { code, out } = await run('--write');
    expect(code).toBe(1);
    expect(out[0]).toMatch(
      /^by hand {2}a\.ts:\d {2}XdsServer and XdsServerCredentials are in grpc-xds\/server: take/,
    );
    expect(get('a.ts')).toBe(text);
  });

  it.each(['127.0.0.1:50051', '[::1]:50051'])(
    'reports that a server at %s is reached by its own host only',
    async (address) => {
      const text = `import { XdsServer } from '${OLD}';\nserver.bindAsync('${address}', a, b);\n`;
      put({ 'a.ts': text, 'b.ts': `import '${OLD}';\nserver.bindAsync('${address}', a, b);\n` });
      const { code, out } = await run('--write');
      expect(code).toBe(1);
      const byHand = out.filter((line) => line.startsWith('by hand'));
      expect(byHand).toHaveLength(1);
      expect(byHand[0]).toMatch(/a\.ts:2 .* only listens on this one: write 0\.0\.0\.0 or \[::\]/);
    },
  );

  it('replaces the other package in the package.json', async () => {
    const manifest = `{\n  "dependencies": {\n    "${OLD}": "^1.14.0"\n  }\n}\n`;
    put({ 'package.json': manifest, 'a.ts': `import { XdsServer } from '${OLD}';` });
    expect((await run('--write')).code).toBe(0);
    expect(JSON.parse(get('package.json'))).toEqual({ dependencies: { 'grpc-xds': '^1.2.3' } });
  });

  it('keeps it where a file inside of it is imported, and in no other package.json', async () => {
    const manifest = `{\n  "dependencies": {\n    "${OLD}": "^1.14.0"\n  }\n}\n`;
    put({
      'packages/deep/package.json': manifest,
      'packages/deep/src/a.ts': `import { Route } from '${OLD}/build/src/route';`,
      'packages/client/package.json': manifest,
      'packages/client/src/a.ts': `import { register } from '${OLD}';`,
    });
    expect((await run('--write')).code).toBe(1);
    expect(JSON.parse(get('packages/deep/package.json'))).toEqual({
      dependencies: { [OLD]: '^1.14.0', 'grpc-xds': '^1.2.3' },
    });
    expect(JSON.parse(get('packages/client/package.json'))).toEqual({
      dependencies: { 'grpc-xds': '^1.2.3' },
    });
  });
});

describe('grpc-xds migrate, package.json', () => {
  it('replaces the dependency in place', async () => {
    const text = `{\r\n\t"dependencies": { "${OLD}": "1", "b": "2" },\r\n\t"devDependencies": {\r\n\t\t"a": "1",\r\n\t\t"${OLD}": "*"\r\n\t}\r\n}\r\n`;
    expect(await migrated(text, 'package.json')).toBe(
      text
        .replace(`"${OLD}": "1"`, '"grpc-xds": "^1.2.3"')
        .replace(`"${OLD}": "*"`, '"grpc-xds": "^1.2.3"'),
    );
  });

  it.each([
    [`{"dependencies":{"${OLD}":"1","grpc-xds":"2"}}`],
    [`{"dependencies":{"grpc-xds":"2","${OLD}":"1"}}`],
    [`{"dependencies":{"grpc-xds":"2",\n"${OLD}":"1"\n}}`],
  ])('removes the dependency beside the new one from %s', async (text) => {
    expect(JSON.parse(await migrated(text, 'package.json'))).toEqual({
      dependencies: { 'grpc-xds': '2' },
    });
  });

  it('reports other places, and a grpc-js that is too old', async () => {
    put({
      'package.json': JSON.stringify({
        dependencies: { [OLD]: '1', '@grpc/grpc-js': '~1.13.0' },
        overrides: { [OLD]: { 'google-auth-library': '10' } },
      }),
    });
    const { code, out } = await run('--write');
    expect(code).toBe(1);
    expect(out.join('\n')).toContain('@grpc/grpc-js ~1.13.0 does not contain 1.14');
    expect(out.join('\n')).toContain(`by hand  package.json:1  names ${OLD}`);
  });

  it.each(['^1.9.0', '~1.14.2', '1.14.0', '*', 'workspace:*'])(
    'accepts grpc-js %s',
    async (range) => {
      put({
        'package.json': JSON.stringify({ dependencies: { [OLD]: '1', '@grpc/grpc-js': range } }),
      });
      expect((await run('--write')).code).toBe(0);
    },
  );

  it('leaves a text that is not JSON as it is', async () => {
    expect(await migrated('{ "dependencies": ', 'package.json')).toBe('{ "dependencies": ');
  });
});

describe('grpc-xds migrate, variables', () => {
  it('removes lines without effect from .env files', async () => {
    const text =
      'A=1\nexport GRPC_EXPERIMENTAL_XDS_WRR_LB=true\nGRPC_XDS_EXPERIMENTAL_RBAC=true\nGRPC_EXPERIMENTAL_PICKFIRST_LB_CONFIG="true"\nB=2\n';
    expect(await migrated(text, '.env.production')).toBe('A=1\nB=2\n');
  });

  it.each([
    ['.env', 'GRPC_XDS_EXPERIMENTAL_FAULT_INJECTION=false', 'only disables fault injection'],
    ['.env', 'GRPC_XDS_EXPERIMENTAL_ENABLE_RETRY=0', '"0" was false there and is the default here'],
    ['a.yaml', 'name: GRPC_EXPERIMENTAL_XDS_FEDERATION\n  value: "no"', '"no" was false there'],
    ['Dockerfile', 'ENV GRPC_EXPERIMENTAL_XDS_WRR_LB=true', 'on by default'],
    [
      'a.ts',
      "process.env['GRPC_XDS_EXPERIMENTAL_RBAC'] = 'true';",
      'RBAC filters of servers are always on',
    ],
    ['a.json', `{ "moduleNameMapper": { "^${OLD}$": "x" } }`, 'the name here is grpc-xds'],
  ])('reports in %s: %s', async (name, text, message) => {
    put({ [name]: text });
    const { code, out } = await run('--write');
    expect(code).toBe(1);
    expect(out[0]).toMatch(/^by hand {2}/);
    expect(out[0]).toContain(message);
    expect(get(name)).toBe(text);
    expect(existsSync(join(folder, name))).toBe(true);
  });

  it('says nothing of variables that mean the same', async () => {
    put({ '.env': 'GRPC_XDS_BOOTSTRAP=/b.json\nGRPC_XDS_EXPERIMENTAL_ENABLE_RETRY=false\n' });
    expect((await run()).code).toBe(0);
  });
});
