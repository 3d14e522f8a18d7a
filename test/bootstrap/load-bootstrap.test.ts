import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createBootstrapLoader,
  loadBootstrap,
  type LoadBootstrapOptions,
} from '../../src/bootstrap/load-bootstrap';
import { silentLogger } from '../../src/util/logger';

const support = {
  channelCreds: new Set(['insecure']),
  callCreds: new Set<string>(),
  certificateProviders: new Set<string>(),
};

function bootstrap(serverUri: string): object {
  return { xds_servers: [{ server_uri: serverUri, channel_creds: [{ type: 'insecure' }] }] };
}

function outcome(options: Omit<LoadBootstrapOptions, 'support'>): string {
  const result = loadBootstrap({ ...options, support });
  if (!result.ok) return `${result.error.kind}: ${result.error.message}`;
  return `${result.value.servers[0]?.serverUri ?? ''} from ${result.value.source}`;
}

describe('loadBootstrap', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'bootstrap-'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it('prefers the option, then the file, then the variable', () => {
    const path = join(folder, 'bootstrap.json');
    writeFileSync(path, JSON.stringify(bootstrap('file')));
    const GRPC_XDS_BOOTSTRAP_CONFIG = JSON.stringify(bootstrap('variable'));
    const env = { GRPC_XDS_BOOTSTRAP: path, GRPC_XDS_BOOTSTRAP_CONFIG };
    expect(outcome({ inline: bootstrap('option'), env })).toBe(
      'option from register({ bootstrap })',
    );
    expect(outcome({ inline: JSON.stringify(bootstrap('text')), env })).toBe(
      'text from register({ bootstrap })',
    );
    expect(outcome({ env })).toBe(`file from ${path}`);
    expect(outcome({ env: { ...env, GRPC_XDS_BOOTSTRAP: '' } })).toBe(
      'variable from GRPC_XDS_BOOTSTRAP_CONFIG',
    );
  });

  describe('refuses JSON beyond a bound before it is parsed', () => {
    const deep = '['.repeat(5_000_000);
    const entries = Array.from({ length: 10_001 }, (_, i) => `"a${i}":{}`);
    it.each([
      ['nested more than 200 levels deep', deep],
      ['nested more than 200 levels deep', `{"node":{"metadata":{"a":${deep}`],
      ['more than 200000 values', `{"xds_servers":[${'{},'.repeat(3_000_000)}`],
      ['an object of more than 10000 members', `{"authorities":{${entries.join()}}}`],
      ['more than 16777216 characters', ' '.repeat(16 * 2 ** 20 + 1)],
    ])('%s', (reason, text) => {
      const path = join(folder, 'bootstrap.json');
      writeFileSync(path, text.slice(0, 16 * 2 ** 20));
      const expected = (subject: string) =>
        `invalid: xDS bootstrap ${subject} is invalid: ${reason}`;
      expect(outcome({ env: { GRPC_XDS_BOOTSTRAP_CONFIG: text } })).toBe(
        expected('in GRPC_XDS_BOOTSTRAP_CONFIG'),
      );
      expect(outcome({ inline: text, env: {} })).toBe(expected('given to register({ bootstrap })'));
      if (text.length > 16 * 2 ** 20) return;
      expect(outcome({ env: { GRPC_XDS_BOOTSTRAP: path } })).toBe(
        expected(`${path} (GRPC_XDS_BOOTSTRAP)`),
      );
    });

    it('refuses an object of the application that is nested too deep', () => {
      let inline: object = {};
      for (let level = 0; level < 300; level++) inline = { inline };
      expect(outcome({ inline, env: {} })).toMatch(/nested more than 200 levels deep$/);
    });
  });

  it('explains how to set a bootstrap when there is none', () => {
    const message =
      'missing: xDS bootstrap is missing: set GRPC_XDS_BOOTSTRAP to a file or ' +
      'GRPC_XDS_BOOTSTRAP_CONFIG to JSON, or pass register({ bootstrap })';
    expect(outcome({ env: {} })).toBe(message);
    expect(outcome({ env: { GRPC_XDS_BOOTSTRAP: '', GRPC_XDS_BOOTSTRAP_CONFIG: '' } })).toBe(
      message,
    );
  });

  it.each([
    ['"/etc/b.json"', 'it has quotes around it: remove them'],
    ["'/etc/b.json'", 'it has quotes around it: remove them'],
    ['~/b.json', 'only a shell replaces "~": write the whole path'],
    ['file:///etc/b.json', 'it is a URL, and this variable takes the path of a file'],
    ['http://a/b.json', 'it is a URL, and this variable takes the path of a file'],
  ])('says why there is no file %s', (path, reason) => {
    expect(outcome({ env: { GRPC_XDS_BOOTSTRAP: path } })).toBe(
      `unreadable: xDS bootstrap ${path} (GRPC_XDS_BOOTSTRAP) cannot be read: ${reason}`,
    );
  });

  it.each(["''", "'{}'", '"{}"', JSON.stringify(JSON.stringify(bootstrap('a')))])(
    'says that %s has quotes around it',
    (text) => {
      expect(outcome({ env: { GRPC_XDS_BOOTSTRAP_CONFIG: text } })).toBe(
        'not-json: xDS bootstrap in GRPC_XDS_BOOTSTRAP_CONFIG has quotes around it: remove them',
      );
    },
  );

  it('names the variables that are set and misspelt when there is none', () => {
    const env = { GRPC_XDS_BOOTSRAP: '/b.json', GRPC_XDS_BOOTSTRAP_CONF: '{}', XDS_TOKEN: 'x' };
    expect(outcome({ env })).toBe(
      'missing: xDS bootstrap is missing: set GRPC_XDS_BOOTSTRAP to a file or GRPC_XDS_BOOTSTRAP_CONFIG to JSON, ' +
        'or pass register({ bootstrap }); GRPC_XDS_BOOTSRAP is set: did you mean GRPC_XDS_BOOTSTRAP?; ' +
        'GRPC_XDS_BOOTSTRAP_CONF is set: did you mean GRPC_XDS_BOOTSTRAP_CONFIG?',
    );
  });

  it('does not try the next source when a file cannot be read', () => {
    const path = join(folder, 'none.json');
    const GRPC_XDS_BOOTSTRAP_CONFIG = JSON.stringify(bootstrap('variable'));
    expect(outcome({ env: { GRPC_XDS_BOOTSTRAP: path, GRPC_XDS_BOOTSTRAP_CONFIG } })).toBe(
      `unreadable: xDS bootstrap ${path} (GRPC_XDS_BOOTSTRAP) cannot be read: ` +
        `ENOENT: no such file or directory, open '${path}'`,
    );
    expect(outcome({ env: { GRPC_XDS_BOOTSTRAP: folder } })).toBe(
      `unreadable: xDS bootstrap ${folder} (GRPC_XDS_BOOTSTRAP) cannot be read: ` +
        'a directory, not a regular file',
    );
  });

  it('rejects a FIFO or a device without blocking, and a file of more than 16 MiB', () => {
    const reasonFor = (path: string) => outcome({ env: { GRPC_XDS_BOOTSTRAP: path } });
    const fifo = join(folder, 'fifo');
    execFileSync('mkfifo', [fifo]);
    expect(reasonFor(fifo)).toContain('cannot be read: a FIFO, not a regular file');
    expect(reasonFor('/dev/zero')).toContain('cannot be read: a device, not a regular file');
    const large = join(folder, 'large.json');
    writeFileSync(large, '');
    truncateSync(large, 16 * 1024 * 1024 + 1);
    expect(reasonFor(large)).toContain('cannot be read: 16777217 bytes, more than 16777216');
  });

  it('reports the position of a syntax error without quoting the text', () => {
    const path = join(folder, 'bootstrap.json');
    writeFileSync(path, '{\n  "token": "s3cret" "x": 1 }');
    expect(outcome({ env: { GRPC_XDS_BOOTSTRAP: path } })).toBe(
      `not-json: xDS bootstrap ${path} (GRPC_XDS_BOOTSTRAP) is not JSON: ` +
        'line 2, column 21: expected "," or "}"',
    );
    expect(outcome({ env: { GRPC_XDS_BOOTSTRAP_CONFIG: '/etc/bootstrap.json' } })).toBe(
      'not-json: xDS bootstrap in GRPC_XDS_BOOTSTRAP_CONFIG is not JSON: ' +
        'it looks like the path of a file: set GRPC_XDS_BOOTSTRAP to it, or give the text in it',
    );
    expect(outcome({ env: { GRPC_XDS_BOOTSTRAP: '{"token":"s3cret"}' } })).toBe(
      'unreadable: xDS bootstrap in GRPC_XDS_BOOTSTRAP cannot be read: it is JSON text, and this variable takes the path of ' +
        'a file: set GRPC_XDS_BOOTSTRAP_CONFIG to the text',
    );
    expect(outcome({ inline: '' })).toBe(
      'not-json: xDS bootstrap given to register({ bootstrap }) is not JSON: ' + 'it is empty',
    );
  });

  it.each([
    ['127.0.0.1:18000', 'the address of a server'],
    ['dns:///xds.example.com:443', 'the address of a server'],
    ['xds_servers:\n  - server_uri: a:1', 'YAML'],
    ['---\nxds_servers: []', 'YAML'],
    ['conf/bootstrap.yaml', 'the path of a file'],
  ])('says what %j is in place of JSON', (inline, kind) => {
    expect(outcome({ inline })).toContain(`is not JSON: it looks like ${kind}: `);
  });

  it.each(['bootstrap.json', './x.json', 'C:\\\\xds\\\\b.json', '/etc/xds', 'file:///etc/b.json'])(
    'recognises the path %s in place of the text',
    (inline) => {
      expect(outcome({ inline })).toContain('is not JSON: it looks like the path of a file');
    },
  );

  it.each(['', '{', '[1,', 'null,', 'a b/c', '{"a":"/etc/x"'])('takes %j for no path', (inline) => {
    expect(outcome({ inline })).not.toContain('looks like the path');
  });

  it('names keys that are probably misspelt in the error of what is missing, and else in a warning', () => {
    const server = { serverUri: 'a:1', channel_creds: [{ type: 'insecure' }] };
    expect(outcome({ inline: { xds_servers: [server], nodes: {} } })).toBe(
      'invalid: xDS bootstrap given to register({ bootstrap }) is invalid: ' +
        'xds_servers[0].server_uri: field not present; ' +
        'xds_servers[0].serverUri is ignored: did you mean server_uri?; nodes is ignored: did you mean node?',
    );
    expect(outcome({ inline: { xdsServers: [] } })).toContain(
      'xds_servers: field not present; xdsServers is ignored: did you mean xds_servers?',
    );
    const good = { server_uri: 'a:1', channel_creds: [{ type: 'insecure' }], serverFeatures: [] };
    const loaded = loadBootstrap({
      inline: {
        xds_servers: [good],
        nodeid: 'a',
        vendor_extension: {},
        node: { Id: 'b', metadata: { iD: 1 } },
      },
      env: {},
      support,
    });
    expect(loaded.ok && loaded.value.warnings).toEqual([
      'xds_servers[0].serverFeatures is ignored: did you mean server_features?',
      'nodeid is ignored: did you mean node?',
      'node.Id is ignored: did you mean id?',
    ]);
  });

  it('lists all violations in one line', () => {
    const text = JSON.stringify({ xds_servers: [{}], node: [] });
    expect(outcome({ env: { GRPC_XDS_BOOTSTRAP_CONFIG: text } })).toBe(
      'invalid: xDS bootstrap in GRPC_XDS_BOOTSTRAP_CONFIG is invalid: ' +
        'xds_servers[0].server_uri: field not present; ' +
        'xds_servers[0].channel_creds: field not present; node: must be an object',
    );
  });

  it('accepts a byte order mark', () => {
    const path = join(folder, 'bootstrap.json');
    writeFileSync(path, `\uFEFF${JSON.stringify(bootstrap('file'))}`);
    expect(outcome({ env: { GRPC_XDS_BOOTSTRAP: path } })).toBe(`file from ${path}`);
  });

  it.each<[string, unknown]>([
    ['a function', () => ({})],
    ['a symbol', Symbol('bootstrap')],
    ['an object without a text', { toJSON: () => undefined }],
  ])('rejects %s', (_name, inline) => {
    expect(outcome({ inline: inline as object })).toBe(
      'invalid: xDS bootstrap given to register({ bootstrap }) is invalid: must be an object',
    );
  });

  it('rejects an object that is not JSON', () => {
    const cyclic: { self?: object } = {};
    cyclic.self = cyclic;
    expect(outcome({ inline: cyclic })).toBe(
      'not-json: xDS bootstrap given to register({ bootstrap }) is not JSON: ' +
        'Converting circular structure to JSON',
    );
  });

  it('is not affected by later changes of the object', () => {
    const inline = { ...bootstrap('option'), node: { metadata: { list: [1] } } };
    const result = loadBootstrap({ inline, support });
    inline.node.metadata.list.push(2);
    expect(result.ok && result.value.node.metadata?.get('list')).toEqual([1]);
  });
});

describe('createBootstrapLoader', () => {
  it('logs once what is ignored', () => {
    const logged: string[] = [];
    const logger = { ...silentLogger, error: (text: () => string) => void logged.push(text()) };
    const inline = {
      ...bootstrap('a'),
      certificate_providers: { mesh: { plugin_name: 'vault' } },
    };
    const load = createBootstrapLoader({ inline, support }, logger);
    load();
    load();
    expect(logged).toEqual([
      'xDS bootstrap register({ bootstrap }): certificate_providers["mesh"] is ignored: plugin "vault" is not registered',
    ]);
  });

  it('reads again after a failure, and never after a success', () => {
    let text: string | undefined;
    let reads = 0;
    const readFile = () => {
      reads++;
      if (text === undefined) throw new Error('not there yet');
      return text;
    };
    const env = { GRPC_XDS_BOOTSTRAP: '/run/agent.json' };
    const load = createBootstrapLoader({ env, readFile, support }, silentLogger);
    // 1. The application starts before the agent has written the file.
    expect(load()).toMatchObject({
      ok: false,
      error: {
        code: 'XDS_BOOTSTRAP_INVALID',
        message: 'xDS bootstrap /run/agent.json (GRPC_XDS_BOOTSTRAP) cannot be read: not there yet',
      },
    });
    // 2. The agent has written half of it.
    text = '{"xds_servers": [';
    expect(load()).toMatchObject({ ok: false });
    // 3. The agent is done.
    text = JSON.stringify(bootstrap('agent'));
    const first = load();
    expect(first).toMatchObject({ ok: true, value: { servers: [{ serverUri: 'agent' }] } });
    // 4. From here on the bootstrap is what it was.
    text = JSON.stringify(bootstrap('other'));
    const second = load();
    expect(second.ok && first.ok && second.value === first.value).toBe(true);
    expect(reads).toBe(3);
  });
});
