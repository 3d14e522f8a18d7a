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
import { bootstrapFor, Mesh, SERVICE, simpleResources, registerAnew } from '../support/mesh';

const token = CallCredentials.createFromMetadataGenerator((_options, callback) => {
  const metadata = new Metadata();
  metadata.set('authorization', 'Bearer secret');
  callback(null, metadata);
});

describe.each(['grpc_proxy', 'https_proxy', 'http_proxy'])(
  'a channel with xDS credentials under %s',
  (variable) => {
    let mesh: Mesh;
    let proxy: HttpProxy;
    let backend: EchoBackend;
    let client: EchoClient;
    const before = { ...process.env };

    beforeEach(async () => {
      mesh = await Mesh.start();
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
      mesh.stop();
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
