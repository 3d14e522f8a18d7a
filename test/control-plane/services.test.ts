import { Snapshot, SnapshotError, type Services } from '../../src/control-plane';
import { eventually } from '../support/eventually';
import { Mesh } from '../support/mesh';
import { XdsError } from '../../src/util/xds-error';

describe('a snapshot of services', () => {
  it('serves each under its name, with all of its addresses', async () => {
    const mesh = await Mesh.start();
    try {
      const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((name) => mesh.backend(name)));
      if (a === undefined || b === undefined || c === undefined) throw new Error('no backend');
      const snapshot = Snapshot.forServices({
        echo: [`127.0.0.1:${a.port}`, `127.0.0.1:${b.port}`],
        'shop.prod': [`localhost:${c.port}`],
      });
      mesh.controlPlane.setSnapshot(snapshot);
      const echo = mesh.client({}, 'xds:///echo');
      const answers = new Set<string>();
      while (answers.size < 2) answers.add(await echo.say());
      expect([...answers].sort()).toEqual(['a', 'b']);
      expect(await mesh.client({}, 'xds:///shop.prod').say()).toBe('c');
    } finally {
      mesh.stop();
    }
  });

  it.each<[text: string, services: Services, problem: string]>([
    ['no port', { echo: ['127.0.0.1'] }, 'services ("echo"): [0]: "127.0.0.1" is not an address'],
    ['port 0', { echo: ['127.0.0.1:0'] }, '"127.0.0.1:0" is not an address'],
    ['a port beyond 65535', { echo: ['127.0.0.1:65536'] }, '"127.0.0.1:65536" is not an address'],
    ['a URL', { echo: ['127.0.0.1:1', 'http://a:1'] }, '[1]: "http://a:1" is not an address'],
    ['IPv6 without brackets', { echo: ['::1:50051'] }, 'services ("echo")'],
    ['two host names', { echo: ['a:1', 'b:1'] }, 'a host name must be the only address'],
  ])('is refused with %s', (_text, services, problem) => {
    const create = () => Snapshot.forServices(services);
    expect(create).toThrow(SnapshotError);
    expect(create).toThrow(problem);
  });

  it('is refused of a Map, which has no members', () => {
    const services: object = new Map([['echo', ['127.0.0.1:1']]]);
    expect(() => Reflect.apply(Snapshot.forServices, Snapshot, [services])).toThrow(
      new XdsError(
        'XDS_OPTION_INVALID',
        'services of Snapshot.forServices() must be an object of services with a list of addresses each, ' +
          'not an object of the class Map',
      ),
    );
  });

  it('has its load reported on demand', async () => {
    const mesh = await Mesh.startWith({ loadReporting: { intervalMs: 20 } });
    try {
      const { port } = await mesh.backend('a');
      const services = { echo: [`127.0.0.1:${port}`] };
      mesh.controlPlane.setSnapshot(Snapshot.forServices(services, { reportsLoad: true }));
      await mesh.client({}, 'xds:///echo').say();
      const [load] = await eventually(
        () => mesh.controlPlane.loads(),
        (loads) => loads.length > 0,
      );
      expect(load).toMatchObject({ cluster: 'echo', localities: [{ issued: 1 }] });
    } finally {
      mesh.stop();
    }
  });

  it('may have a service without an address, whose calls fail', () => {
    expect(() => Snapshot.forServices({ echo: [] })).not.toThrow();
  });
});
