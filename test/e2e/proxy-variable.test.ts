// A proxy variable, which makes grpc-js connect channels to the proxy without resolving their targets.

import {
  CallCredentials,
  credentials,
  Metadata,
  status,
  type ChannelCredentials,
} from '@grpc/grpc-js';
import { createXdsChannelCredentials } from '../../src';
import { EchoBackend, EchoClient } from '../support/echo-backend';
import { HttpProxy } from '../support/http-proxy';
import { bootstrapFor, SERVICE, simpleResources, registerAnew, useMesh } from '../support/mesh';
import { runChild } from '../support/run-child';

const token = CallCredentials.createFromMetadataGenerator((_options, callback) => {
  const metadata = new Metadata();
  metadata.set('authorization', 'Bearer secret');
  callback(null, metadata);
});

describe.each(['grpc_proxy', 'https_proxy', 'http_proxy'])(
  'a channel with xDS credentials under %s',
  (variable) => {
    const mesh = useMesh();
    let proxy: HttpProxy;
    let backend: EchoBackend;
    let client: EchoClient;
    const before = { ...process.env };

    beforeEach(async () => {
      proxy = await new HttpProxy().start();
      backend = await EchoBackend.start('backend');
      mesh.serve(simpleResources([backend.port]));
      registerAnew({ bootstrap: bootstrapFor(mesh.address) });
      process.env[variable] = `http://127.0.0.1:${proxy.port}`;
      process.env['no_grpc_proxy'] = 'nothing.example';
    });
    afterEach(() => {
      process.env = { ...before };
      client.close();
      backend.stop();
      proxy.stop();
    });

    const fallbacks: readonly [string, ChannelCredentials][] = [
      ['an insecure fallback', credentials.createInsecure()],
      ['a TLS fallback', credentials.createSsl()],
    ];

    it.each(fallbacks)(
      'and %s sends nothing to the proxy, and fails with the remedy',
      async (_name, fallback) => {
        const target = `xds:///127.0.0.1:${backend.port}`;
        const xds = createXdsChannelCredentials(fallback).compose(token);
        client = new EchoClient(target, {}, xds);
        const { code, details } = await client.failure({ credentials: token });
        expect(code).toBe(status.UNAVAILABLE);
        expect(details).toContain(
          `grpc-xds: ${variable} makes grpc-js connect the channel for ${target} to a proxy without resolving it, so that the ` +
            'security configuration of its cluster is unknown: add the host to no_grpc_proxy, or set the channel option ' +
            'grpc.enable_http_proxy to 0',
        );
        expect(proxy.targets).toEqual([]);
        expect(backend.calls).toBe(0);
      },
    );

    it('uses the fallback for other targets through the proxy', async () => {
      const xds = createXdsChannelCredentials(credentials.createInsecure());
      client = new EchoClient(`dns:///127.0.0.1:${backend.port}`, {}, xds);
      expect(await client.say()).toBe('backend');
      expect(proxy.targets).toEqual([`127.0.0.1:${backend.port}`]);
    });

    it('does not apply to a management server on this machine', async () => {
      const direct = { 'grpc.enable_http_proxy': 0 };
      client = new EchoClient(`xds:///${SERVICE}`, direct, credentials.createInsecure());
      expect(await client.say()).toBe('backend');
      expect(proxy.targets).toEqual([]);
    });
  },
);

describe('a process with a proxy variable', () => {
  let proxy: HttpProxy;
  beforeEach(async () => {
    proxy = await new HttpProxy().start();
    proxy.status = 403;
  });
  afterEach(() => proxy.stop());

  async function call(variables: Readonly<Record<string, string>>) {
    const env = {
      http_proxy: `http://127.0.0.1:${proxy.port}`,
      ...variables,
      GRPC_VERBOSITY: 'ERROR',
    };
    const { stdout, stderr } = await runChild('one-call', { args: [`xds:///${SERVICE}`], env });
    return { stdout, lines: stderr.split('\n').filter((line) => line.includes('_proxy')) };
  }

  it('logs which variable sends the channel to the proxy, and the remedies', async () => {
    const { stdout, lines } = await call({});
    expect(proxy.targets).toContain(SERVICE);
    expect(stdout).toContain('error ');
    expect(lines).toEqual([
      expect.stringContaining(
        'grpc-xds: http_proxy is set: grpc-js connects channels to xds: targets to the proxy ' +
          `127.0.0.1:${proxy.port} and does not resolve them; add the hosts to no_proxy, or set the channel ` +
          'option grpc.enable_http_proxy to 0',
      ),
    ]);
  }, 120_000);

  it('logs nothing if every host is exempt', async () => {
    const { stdout, lines } = await call({ no_proxy: ',' });
    expect(proxy.targets).toEqual([]);
    expect(stdout).toContain('xDS bootstrap is missing');
    expect(lines).toEqual([]);
  }, 120_000);
});
