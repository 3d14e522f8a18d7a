// The pages that there are, each with something in all of its views, and with the states in which they are looked at.
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { FakeIo } from '../cli/fake-io';
import { AdsClient, type AdsClientStream } from '../control-plane/ads-client';
import { LDS } from '../control-plane/resources';
import { CommandProcess } from '../support/command-process';
import { DemoMesh } from '../support/demo-mesh';
import type { TestBrowser } from '../support/describe-in-browser';
import { KubernetesApiServer, serviceObject, sliceObject } from '../support/kubernetes-api-server';
import { routeJson } from '../support/kubernetes-objects';
import { bootstrapFor, Mesh, SERVICE, simpleResources } from '../support/mesh';
import { SHOP, startScene } from '../support/page-scene';
import { routerFilter } from '../support/xds-json';
import {
  callServer,
  inlineRoutes,
  rbacFilter,
  serverChain,
  XdsServerWorld,
} from '../support/xds-server-world';

/** A page, and what is shown of it one after the other. */
export interface Scene {
  readonly url: string;
  /** Each by its name. The tab has the page already. */
  readonly states: Readonly<Record<string, () => Promise<unknown>>>;
}

const HOSTILE = '<img src=x onerror=alert(1)>"</script><script>alert(2)</script>';

type StartScene = (chromium: TestBrowser) => Promise<Scene>;

/** The states of views without steps of their own. @param rows A text in each view; empty for a view that may have no rows. */
function viewsOf(chromium: TestBrowser, rows: Readonly<Record<string, string>>): Scene['states'] {
  const states = Object.entries(rows).map(([view, text]) => {
    const show = async () => {
      await chromium.show(view);
      if (text !== '') await chromium.row(text).first().waitFor();
    };
    return [view, show] as const;
  });
  return Object.fromEntries(states);
}

/** Starts the page of this process, with a client. */
const client: StartScene = async (chromium) => {
  const { shop, mesh } = await startScene();
  chromium.stopping(mesh);
  const page = await chromium.servePage();
  await shop.say();
  const tab = () => chromium.tab;
  const dialog = () => tab().getByRole('dialog');
  const click = (name: string) => tab().getByRole('button', { name, exact: true }).click();
  return {
    url: page.url,
    states: {
      'all targets': () => tab().waitForSelector('.node[aria-label^="target xds:///shop"]'),
      graph: async () => {
        await tab().goto(`${page.url}&target=xds:///${SHOP}`);
        await tab().waitForSelector('.node[aria-label^="endpoint 127.0.0.1:1: failing"]');
      },
      'graph with a way': async () => {
        await tab().getByText('Explain a call').click();
        await tab().getByLabel('Method').fill('/shop.Pay/Charge');
        await click('Explain');
        await tab().waitForSelector('.mesh.explained');
      },
      ...viewsOf(chromium, {
        resources: 'NACKED',
        routes: '/shop.Pay/',
        servers: mesh.address,
        events: 'Cluster pay',
      }),
      'an event': async () => {
        await tab().locator('.event-mark').last().press('Enter');
        await openListed(tab());
      },
      'the graph of then': async () => {
        await click('Show the graph as it was then');
        await tab().waitForSelector('#then:has-text("The graph is as it was at")');
        await tab().waitForSelector('.mesh .node');
        await tab().keyboard.press('Escape');
      },
      'a resource': async () => {
        await chromium.show('resources');
        await chromium.row('NACKED').getByRole('button').click();
        await dialog().waitFor();
      },
      'a notice': async () => {
        await click('Close');
        chromium.publishNotice({ name: 'RouteConfiguration '.repeat(20), text: 'x'.repeat(500) });
        await tab().locator('#notice', { hasText: 'xxx' }).waitFor();
      },
      'without a token': async () => {
        await tab().goto('about:blank');
        await tab().goto(page.url.replace(/#.*/, '#'));
        await tab().getByLabel('Token').waitFor();
        chromium.forgive('401 (Unauthorized)');
      },
    },
  };
};

/** Opens the first event of a mark with several. */
async function openListed(tab: Page): Promise<void> {
  await tab.waitForSelector('dialog[open], #view td button:focus');
  if (!(await tab.getByRole('dialog').isVisible())) await tab.keyboard.press('Enter');
  await tab.getByRole('dialog').waitFor();
}

/** Starts the page of this process, with a server that denies calls. */
const servers: StartScene = async (chromium) => {
  chromium.stopping(await Mesh.start());
  const world = chromium.stopping(await XdsServerWorld.start());
  const { typed_config } = rbacFilter('DENY', [{ any: true }], [{ any: true }], HOSTILE);
  const filters = [{ name: HOSTILE, typed_config }, routerFilter];
  const chain = serverChain({ ...inlineRoutes(), http_filters: filters }, { name: HOSTILE });
  world.serve([world.listener([chain])]);
  await world.bind(world.server());
  const page = await chromium.servePage();
  await callServer(world.client());
  return {
    url: page.url,
    states: {
      graph: async () => {
        await chromium.tab.getByRole('button', { name: 'Served addresses' }).click();
        await chromium.tab.waitForSelector('.node[aria-label^="address"]');
      },
      ...viewsOf(chromium, { resources: 'Listener' }),
      'an address that is not served': async () => {
        world.serve([]);
        await chromium.show('events');
        await chromium.row('serving-state').first().waitFor();
      },
    },
  };
};

/** Runs a command until the test is over, and waits until it has printed where its page is. */
export async function runCommand(
  chromium: TestBrowser,
  io: FakeIo,
  ...args: readonly string[]
): Promise<string> {
  const running = io.run(...args);
  chromium.atEnd(async () => {
    io.pressCtrlC();
    expect(await running).toBe(0);
  });
  return (await io.until(/^Live page: /)).slice('Live page: '.length);
}

/** Opens a stream of a client whose name is markup, and rejects what it is sent. */
async function reject(
  chromium: TestBrowser,
  address: string,
  name: string,
): Promise<AdsClientStream> {
  const connected = new AdsClient(address);
  chromium.atEnd(() => connected.close());
  const stream = connected.open();
  stream.subscribe(LDS, [name], { node: { id: '<b>shop' } });
  stream.nack(await stream.next(), [name], 'a listener that is <i>bad');
  return stream;
}

/** The client that rejects is shown, and then none. */
function untilRejected({ tab }: TestBrowser) {
  return async () => {
    await tab.waitForSelector('#subject:text-is("<b>shop")');
    await tab.waitForSelector('#verdict:has-text("a listener that is <i>bad")');
  };
}

function withoutClient({ tab }: TestBrowser, stream: AdsClientStream) {
  return async () => {
    stream.end();
    await tab.waitForSelector('#verdict:text("There is no client at the moment.")');
  };
}

const serve: StartScene = async (chromium) => {
  const io = new FakeIo();
  const file = join(__dirname, '../../examples/echo.yaml');
  const url = await runCommand(chromium, io, 'serve', file, '--port', '0', '--page', '0');
  const address = (await io.until(/^Serving /)).split(' ').at(-1) ?? '';
  const stream = await reject(chromium, address, 'echo.example.com:50051');
  return {
    url,
    states: {
      graph: async () => {
        await untilRejected(chromium)();
        await chromium.tab.getByRole('button', { name: /^Cluster echo-canary/i }).waitFor();
        expect(await chromium.tab.locator('#call').isVisible()).toBe(false);
      },
      ...viewsOf(chromium, {
        types: 'rejected',
        served: 'echo-canary',
        events: 'REJECTED listeners',
      }),
      'without a client': () => withoutClient(chromium, stream)(),
    },
  };
};

const relay: StartScene = async (chromium) => {
  const mesh = chromium.stopping(await Mesh.start());
  mesh.serve(simpleResources([1]));
  const io = new FakeIo();
  io.env = { GRPC_XDS_BOOTSTRAP_CONFIG: JSON.stringify(bootstrapFor(mesh.address)) };
  const url = await runCommand(chromium, io, 'relay', '--listen', '127.0.0.1:0', '--page', '0');
  const address = (await io.until(/^Relaying on /)).split(' ').at(-1) ?? '';
  const stream = await reject(chromium, address, SERVICE);
  return {
    url,
    states: {
      client: () => untilRejected(chromium)(),
      ...viewsOf(chromium, {
        types: 'rejected',
        differences: '',
        upstream: mesh.address,
        relayed: 'Listener',
        events: '<i>bad',
        loads: '',
      }),
      'without a client': () => withoutClient(chromium, stream)(),
    },
  };
};

/** Services that are served, empty, of another name and with a mistake; a route that is accepted and one that is not. */
function putObjects(api: KubernetesApiServer): void {
  const zone = (name: string) => ({ 'topology.kubernetes.io/zone': name });
  for (const name of ['a', 'b']) {
    api.putNode({ metadata: { name, labels: zone(`eu-1${name}`) } });
  }
  const annotations = { 'grpc-xds/max-requests': HOSTILE };
  api.putService(serviceObject('web', {}, { annotations }));
  const at = (address: string, nodeName: string, ready: boolean) => ({
    addresses: [address],
    nodeName,
    zone: `eu-1${nodeName}`,
    conditions: { ready, serving: true, terminating: !ready },
  });
  api.putSlice(sliceObject('web', 8080, [at('127.0.0.1', 'a', true), at('127.0.0.2', 'b', false)]));
  api.putService(
    serviceObject('a-service-whose-name-is-as-long-as-the-names-of-kubernetes-can-be'),
  );
  api.putService(serviceObject('other', { type: 'ExternalName', externalName: 'other.example' }));
  for (const [name, backend] of [
    ['split', 'web'],
    ['lost', 'nowhere'],
  ] as const) {
    api.putRoute({ ...routeJson(name, 'web', [backend]), metadata: { name } });
  }
}

const kubernetes: StartScene = async (chromium) => {
  const api = new KubernetesApiServer();
  const kubeconfig = await api.start();
  chromium.atEnd(() => api.stop());
  putObjects(api);
  const command = new CommandProcess([
    'kubernetes',
    '--kubeconfig',
    kubeconfig,
    '--insecure',
    '--page',
    '0',
    '--listen',
    '127.0.0.1:0',
    '--probe',
    '127.0.0.1:0',
    '--drain-delay',
    '0.01',
    '--drain',
    '0.05',
  ]);
  chromium.atEnd(() => command.kill());
  const url = (await command.until(/^Live page: /)).slice('Live page: '.length);
  const address = (await command.until(/^Serving the Services of/)).split(' ').at(-1) ?? '';
  const stream = await reject(chromium, address, 'web.shop.svc.cluster.local:80');
  return {
    url,
    states: {
      client: () => untilRejected(chromium)(),
      ...viewsOf(chromium, {
        types: 'rejected',
        services: 'shop/other',
        routes: 'nowhere',
        watches: 'watching',
        events: '<i>bad',
      }),
      'without a client': () => withoutClient(chromium, stream)(),
    },
  };
};

const demo: StartScene = async (chromium) => {
  const mesh = await DemoMesh.start();
  chromium.atEnd(() => mesh.kill());
  return {
    url: mesh.url,
    states: {
      graph: () => chromium.tab.waitForSelector('#notice:has-text("All is well")'),
      target: () =>
        chromium.tab.getByRole('button', { name: 'xds:///catalog', exact: true }).click(),
      ...viewsOf(chromium, { routes: 'calls/s', events: 'notice' }),
    },
  };
};

/** Starts each page, by its name. */
export const SCENES = { client, servers, serve, relay, kubernetes, demo };
