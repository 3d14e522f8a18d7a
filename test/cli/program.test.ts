import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { styleText } from 'node:util';
import { formatDocument, formatLine } from '../../packages/cli/src/io';
import { FakeIo } from './fake-io';

const TARGET_FORM = 'an xds: target, such as xds:///shop';
const example = join(__dirname, '..', '..', 'examples', 'echo.yaml');

/** An argument of each named form that does not have it. */
const formErrors = (
  [
    [
      'explain xds:///a /b.C/d',
      "option '-H, --header <name:value>'",
      'nocolon',
      'NAME:VALUE or NAME=VALUE',
      '-H',
    ],
    [
      'explain xds:///a /b.C/d',
      "option '-H, --header <name:value>'",
      ':v',
      'NAME:VALUE or NAME=VALUE',
      '-H',
    ],
    ['explain xds:///a', "command-argument value 'Say'", 'Say', '/package.Service/Method'],
    ['explain xds:///a', "command-argument value '/a/'", '/a/', '/package.Service/Method'],
    ['explain xds:///a', "command-argument value '/a/b/c'", '/a/b/c', '/package.Service/Method'],
    [
      'dump x.yaml',
      "option '-t, --target <target>'",
      'dns:a',
      `${TARGET_FORM}, or #server, #relay, #client-1`,
      '-t',
    ],
    ['doctor', "option '-t, --target <target>'", 'shop', TARGET_FORM, '-t'],
    [
      'dump',
      "option '--page <url>'",
      'localhost',
      'the URL of a live page, with its token',
      '--page',
    ],
    ['dump', "option '--pid <id>'", 'me', 'the id of a process', '--pid'],
    ['dump --timeout', "option '--timeout <seconds>'", 'x', 'a number of seconds, more than 0'],
    ['serve', "option '-s, --service <name=addresses>'", 'a', 'NAME=HOST:PORT', '-s'],
    ['bootstrap istio', "option '--istiod <host:port>'", 'istiod', 'HOST:PORT', '--istiod'],
    ['bootstrap istio', "option '--istiod <host:port>'", 'istiod:0', 'HOST:PORT', '--istiod'],
    ['bootstrap istio', "option '--istiod <host:port>'", 'a b:1', 'HOST:PORT', '--istiod'],
    ['bootstrap istio', "option '--ip <address>'", 'pod', 'an IP address', '--ip'],
    ['bootstrap gcp', "option '--ip <address>'", '1.2.3', 'an IP address', '--ip'],
    ['bootstrap gcp', "option '--project-number <number>'", 'p', 'a number', '--project-number'],
  ] as const
).map(([command, subject, value, form, option]): [readonly string[], string] => {
  const args = [...command.split(' '), ...(option === undefined ? [] : [option]), value];
  const message = subject.startsWith('command')
    ? `error: ${subject} is invalid for argument 'method'. Expected ${form}.`
    : `error: ${subject} argument '${value}' is invalid. Expected ${form}.`;
  return [args, message];
});

describe('grpc-xds', () => {
  let io: FakeIo;
  beforeEach(() => {
    io = new FakeIo();
  });

  it('prints its version', async () => {
    expect(await io.run('--version')).toBe(0);
    expect(io.out).toEqual(['1.2.3']);
  });

  it('lists its commands', async () => {
    expect(await io.run('--help')).toBe(0);
    const text = io.out.join('\n');
    expect(text).toMatch(
      /serve \[options\] \[file\] +serve a resource file or a list of services over ADS/,
    );
    expect(text).toMatch(/check \[options\] <files\.\.\.> +list the errors of a resource file/);
  });

  it('escapes control characters and line feeds of others, and keeps its own colours and lines of documents', () => {
    const red = styleText('red', 'a\\u000ab', { validateStream: false });
    expect(formatLine([{ color: 'red', text: 'a\nb' }, '\x1b[8mc'])).toBe(`${red}\\u001b[8mc`);
    expect(formatLine('\x1b[2Jx\r\x9b1A\u202e')).toBe('\\u001b[2Jx\\u000d\\u009b1A\\u202e');
    const json = JSON.stringify({ a: '\x1b[2J\x9b', b: '\u202e\n' }, undefined, 2);
    expect(formatDocument(json).split('\n')).toHaveLength(4);
    expect(JSON.parse(formatDocument(json))).toEqual({ a: '\x1b[2J\x9b', b: '\u202e\n' });
  });

  it('has a section about each command in docs/cli.md', async () => {
    expect(await io.run('--help')).toBe(0);
    const commands = io.out.slice(io.out.indexOf('Commands:') + 1);
    const names = commands.flatMap((line) => /^ {2}([a-z]+)/.exec(line)?.[1] ?? []);
    expect(names.length).toBeGreaterThan(9);
    const docs = readFileSync(join(__dirname, '..', '..', 'docs', 'cli.md'), 'utf8');
    const sections = [...docs.matchAll(/^## (.*)$/gm)].flatMap(([, title = '']) =>
      title.split(' and '),
    );
    expect(sections.sort()).toEqual(names.filter((name) => name !== 'help').sort());
  });

  it('explains a command and the file it takes', async () => {
    expect(await io.run('serve', '--help')).toBe(0);
    const text = io.out.join('\n');
    for (const part of ['--port <number>', '(default:', '--no-watch', 'examples/echo.yaml']) {
      expect(text).toContain(part);
    }
  });

  it.each<[readonly string[], string]>([
    [['serv'], "error: unknown command 'serv'"],
    [['serve'], 'error: expected either a resource file or --service NAME=HOST:PORT'],
    [['check', '--port', '1', example], "error: unknown option '--port'"],
    [
      ['serve', example, '--port', '70000'],
      "error: option '-p, --port <number>' argument '70000' is invalid. Expected a number from 0 to 65535.",
    ],
    [
      ['serve', example, '--port', 'http'],
      "error: option '-p, --port <number>' argument 'http' is invalid. Expected a number from 0 to 65535.",
    ],
    ...formErrors,
  ])('says what is wrong with %j', async (args, message) => {
    expect(await io.run(...args)).toBe(2);
    expect(io.errors[0]).toBe(message);
    expect(io.errors.at(-1)).toMatch(/--help to see what is possible|Did you mean/);
    expect(io.out).toEqual([]);
  });
});

describe('grpc-xds check', () => {
  let folder: string;
  let file: string;
  let io: FakeIo;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'cli-check-'));
    file = join(folder, 'f.yaml');
    io = new FakeIo();
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const eds = { type: 'EDS', eds_cluster_config: { eds_config: { ads: {} } } };

  it('lists what clients reject', async () => {
    const HCM = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
    const manager = {
      '@type': `type.googleapis.com/${HCM}`,
      route_config: { name: 'r', virtual_hosts: [] },
    };
    const resources = {
      listeners: [{ name: 'l', api_listener: { api_listener: manager } }],
      clusters: [
        { name: 'c', ...eds, lb_policy: 'MAGLEV' },
        { name: 'good', ...eds },
      ],
      endpoints: [{ cluster_name: 'c', endpoints: [{ load_balancing_weight: 1 }] }],
    };
    const json = JSON.stringify(resources);
    writeFileSync(file, json);
    expect(json.indexOf('"lb_policy"') + 1).toBe(306);
    expect(await io.run('check', '--allow-inconsistent', file)).toBe(1);
    expect(io.out).toEqual([]);
    expect(io.errors.sort()).toEqual(
      [
        '1:306: cluster "c": clients reject it (NACK): lb_policy: must be ROUND_ROBIN, LEAST_REQUEST or RING_HASH, not MAGLEV, which GRPC_XDS_NODE_ENVOY_FEATURES=true enables',
        '1:451: endpoint assignment "c": clients reject it (NACK): endpoints[0].locality: field not present',
        '1:43: listener "l": clients reject it (NACK): api_listener.api_listener.http_filters: must have at least one supported filter, the router',
      ]
        .map((line) => `${file}:${line}`)
        .sort(),
    );
  });

  it('writes its findings as SARIF', async () => {
    writeFileSync(
      file,
      'clusters:\n' +
        '  - name: a\n    lb_policy: MAGLEV\n    type: EDS\n    eds_cluster_config: { eds_config: { ads: {} } }\n' +
        '  - name: b\n    alt_stat_name: c\n    type: EDS\n    eds_cluster_config: { eds_config: { ads: {} } }\n',
    );
    expect(await io.run('check', '--allow-inconsistent', '-o', 'sarif', file)).toBe(1);
    expect(io.errors).toEqual([]);
    const log = JSON.parse(io.out.join('\n'));
    expect(log).toMatchObject({
      version: '2.1.0',
      runs: [{ tool: { driver: { name: 'grpc-xds', semanticVersion: '1.2.3' } } }],
    });
    const [run] = log.runs;
    const at = (startLine: number, startColumn: number) => [
      {
        physicalLocation: {
          artifactLocation: { uri: pathToFileURL(file).href },
          region: { startLine, startColumn },
        },
      },
    ];
    expect(run.results).toEqual([
      {
        ruleId: 'nack',
        ruleIndex: 4,
        level: 'error',
        locations: at(3, 5),
        message: { text: expect.stringMatching(/^cluster "a": clients reject it.*MAGLEV/) },
      },
      {
        ruleId: 'envoy-field',
        ruleIndex: 6,
        level: 'warning',
        locations: at(7, 5),
        message: { text: 'clusters[1] ("b"): no gRPC client reads "alt_stat_name"' },
      },
    ]);
    for (const { ruleId, ruleIndex } of run.results) {
      expect(run.tool.driver.rules[ruleIndex].id).toBe(ruleId);
    }
  });

  it('writes its findings as JSON', async () => {
    writeFileSync(file, 'clusters: [');
    expect(await io.run('check', '--json', file)).toBe(1);
    expect(JSON.parse(io.out.join('\n'))).toEqual({
      file,
      findings: [
        {
          rule: 'syntax',
          level: 'error',
          position: { line: 1, column: 12 },
          text: expect.any(String),
        },
      ],
    });
  });

  it('prints the resources of a valid file', async () => {
    expect(await io.run('check', example)).toBe(0);
    expect(io.errors).toEqual([]);
    expect(io.out).toEqual([
      `${example} is good:`,
      '  listeners     1  echo.example.com:50051',
      '  routes        1  echo-routes',
      '  clusters      2  echo, echo-canary',
      '  endpoints     2  echo, echo-canary',
      expect.stringMatching(/^not seen in a file: /),
    ]);
  });

  it('shows the first names of many', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    writeFileSync(file, JSON.stringify({ clusters: names.map((name) => ({ name, ...eds })) }));
    expect(await io.run('check', '--allow-inconsistent', file)).toBe(0);
    expect(io.out.slice(1)).toEqual([
      '  listeners     0',
      '  routes        0',
      '  clusters      7  a, b, c, d, e, and 2 more',
      '  endpoints     0',
      expect.stringMatching(/^not seen in a file: /),
    ]);
  });

  it('says of a JSON file what is wrong with it as JSON', async () => {
    const json = join(folder, 'f.json');
    writeFileSync(json, '{"clusters": [}');
    expect(await io.run('check', json)).toBe(1);
    expect(io.errors).toEqual([
      `${json}:1:15: not JSON: a bracket, brace, comma, colon or quote is missing or out of place`,
    ]);
  });

  it('lists what is wrong with a bad file', async () => {
    writeFileSync(file, 'clusters:\n  - name: a\n    typ: EDS\n  - name: a\n');
    expect(await io.run('check', file)).toBe(1);
    expect(io.out).toEqual([]);
    expect(io.errors).toEqual([`${file}:3:5: clusters[0] ("a"): unknown field "typ"`]);
  });

  it('lists dangling references, unless they are allowed', async () => {
    writeFileSync(
      file,
      'clusters: [{ name: a, type: EDS, alt_stat_nam: b, eds_cluster_config: { eds_config: { ads: {} } } }]',
    );
    expect(await io.run('check', file, '--ignore-unknown-fields')).toBe(1);
    expect(io.errors).toEqual([
      `${file}:1:14: cluster "a": name: endpoint assignment "a" is not in the snapshot`,
    ]);
    const flags = ['--ignore-unknown-fields', '--allow-inconsistent'];
    expect(await io.run('check', ...flags, file)).toBe(0);
  });

  it('reads the standard input, several files and the files of a folder', async () => {
    writeFileSync(file, 'clusters: [');
    writeFileSync(join(folder, 'g.json'), '{"clusters":[]}');
    writeFileSync(join(folder, 'notes.txt'), 'not a resource file');
    io.input = '{"listeners":[]}';
    expect(await io.run('check', '-', folder, example, '--json')).toBe(1);
    const { files } = JSON.parse(io.out.join('\n'));
    expect(files.map((each: { file: string }) => each.file)).toEqual([
      '-',
      file,
      join(folder, 'g.json'),
      example,
    ]);
    const counts = files.map((each: { findings: object[] }) => each.findings.length);
    expect(counts).toEqual([0, 1, 0, 0]);
  });

  it('prints why a file cannot be read', async () => {
    expect(await io.run('check', file)).toBe(2);
    expect(io.errors).toEqual([
      `${file}: cannot be read: ENOENT: no such file or directory, open '${file}'`,
    ]);
  });
});
