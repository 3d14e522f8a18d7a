import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { listAt, valueAt } from '../../src/util/value-at';
import { FakeIo } from '../cli/fake-io';

const root = join(__dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** A command of `grpc-xds`, and the names of its variables. */
interface Program {
  readonly command: readonly string[];
  readonly variables: readonly string[];
}

/** What a manifest or unit runs, with its arguments, such as `relay --listen …`. */
function programOf(command: readonly string[], variables: readonly string[]): Program {
  const at = command.findIndex((word) => word.endsWith('grpc-xds'));
  return { command: at === -1 ? [] : command.slice(at + 1), variables };
}

const documents = parseAllDocuments(read('examples/relay/kubernetes.yaml'));
const pods = documents.map((document) => {
  const json: unknown = document.toJS();
  const isPod = valueAt(json, 'kind') === 'Pod';
  return { json, spec: isPod ? valueAt(json, 'spec') : valueAt(json, 'spec', 'template', 'spec') };
});
const containers = pods.flatMap(({ spec }) =>
  ['initContainers', 'containers'].flatMap((name) =>
    listAt(spec, name).map((container) => ({ spec, container })),
  ),
);
const ofManifests = containers.flatMap(({ container }) => {
  const variables = listAt(container, 'env').map((each) => String(valueAt(each, 'name')));
  const probes = ['startupProbe', 'readinessProbe', 'livenessProbe'];
  return [
    programOf(listAt(container, 'command').map(String), variables),
    ...probes.map((probe) => {
      const exec = valueAt(container, probe, 'exec');
      return programOf(listAt(exec, 'command').map(String), []);
    }),
  ];
});

/** The values of a key of a systemd unit. */
function valuesOf(unit: string, key: string): readonly string[] {
  const lines = read(`examples/relay/${unit}`).split('\n');
  return lines.filter((line) => line.startsWith(`${key}=`)).map((l) => l.slice(key.length + 1));
}

const service = 'grpc-xds-relay.service';
const ofUnit = programOf(
  valuesOf(service, 'ExecStart').flatMap((line) => line.split(' ')),
  valuesOf(service, 'Environment').map((line) => line.split('=', 1).join()),
);

const programs = [...ofManifests, ofUnit];
const commands = programs.map(({ command }) => command).filter(({ length }) => length > 0);

describe('the manifests and units of the relay', () => {
  it('are valid YAML', () => {
    expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
    expect(pods.map(({ json }) => valueAt(json, 'kind'))).toEqual([
      'Deployment',
      'DaemonSet',
      'Pod',
    ]);
    expect(commands).toHaveLength(5);
  });

  it.each(commands.map((command) => [command.join(' '), command]))(
    'have the command %s, whose options exist',
    async (_text, [name = '', ...args]) => {
      const io = new FakeIo();
      expect(await io.run(name, '--help')).toBe(0);
      const options = args.filter((word) => word.startsWith('-'));
      expect(options.length).toBeGreaterThan(0);
      for (const option of options) expect(io.out.join('\n')).toContain(`${option} <`);
      // The values are read before anything else: a relay without a bootstrap ends, and none listens there.
      await io.run(name, ...args);
      expect(io.errors.join('\n')).not.toMatch(/argument|option/);
    },
  );

  it('have variables that this package reads', () => {
    const variables = new Set(programs.flatMap((program) => program.variables));
    expect([...variables].sort()).toEqual(['GRPC_XDS_BOOTSTRAP', 'GRPC_XDS_RELAY']);
    const known = read('docs/reference/configuration.md');
    for (const variable of variables) expect(known).toContain(`\`${variable}\``);
  });

  it('mount the folder of the socket as the user of the relay wherever it is used', () => {
    const users = containers.filter(({ container }) => JSON.stringify(container).includes('.sock'));
    expect(users.length).toBeGreaterThan(3);
    for (const { spec, container } of users) {
      const own = valueAt(container, 'securityContext', 'runAsUser');
      expect(own ?? valueAt(spec, 'securityContext', 'runAsUser')).toBe(10_001);
      const volumes = new Set(listAt(spec, 'volumes').map((volume) => valueAt(volume, 'name')));
      const mounts = listAt(container, 'volumeMounts');
      expect(mounts.map((mount) => valueAt(mount, 'mountPath'))).toContain('/run/grpc-xds');
      for (const mount of mounts) expect(volumes).toContain(valueAt(mount, 'name'));
    }
  });

  it('name the socket that systemd passes as its unit does', () => {
    const [name = ''] = valuesOf('grpc-xds-relay.socket', 'FileDescriptorName');
    expect(ofUnit.command).toEqual(['relay', '--listen', `systemd:${name}`]);
    expect(valuesOf(service, 'Requires')).toEqual(['grpc-xds-relay.socket']);
    expect(valuesOf('grpc-xds-relay.socket', 'SocketUser')).toEqual(valuesOf(service, 'User'));
    expect(valuesOf('grpc-xds-relay.socket', 'SocketMode')).toEqual(['0600']);
  });
});
