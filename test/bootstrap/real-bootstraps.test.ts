import { parseBootstrap } from '../../src/bootstrap/bootstrap-parser';
import type { Bootstrap } from '../../src/bootstrap/bootstrap';
import { listenerResourceName } from '../../src/bootstrap/resource-template';
import { serverListenerName } from '../../src/bootstrap/server-listener-name';
import { CertificateProviderRegistry } from '../../src/security/providers/certificate-providers';
import { createFileWatcher } from '../../src/security/providers/file-watcher';

// Shaped like what is found in the field; the values are made up.

const ISTIO_AGENT = `{
  "xds_servers": [
    {
      "server_uri": "unix:///etc/istio/proxy/XDS",
      "channel_creds": [{ "type": "insecure" }],
      "server_features": ["xds_v3"]
    }
  ],
  "node": {
    "id": "sidecar~10.1.2.3~cart-7d9c.shop~shop.svc.cluster.local",
    "metadata": {
      "GENERATOR": "grpc",
      "APP_CONTAINERS": "app",
      "PILOT_SAN": ["istiod.istio-system.svc"],
      "PROXY_CONFIG": { "concurrency": 2, "drainDuration": "45s", "statNameLength": 189 },
      "LABELS": { "app": "cart", "security.istio.io/tlsMode": "istio" },
      "WORKLOAD_NAME": "cart",
      "ANNOTATIONS": {}
    },
    "locality": {},
    "UserAgentVersionType": null
  },
  "certificate_providers": {
    "default": {
      "plugin_name": "file_watcher",
      "config": {
        "certificate_file": "/var/lib/istio/data/cert-chain.pem",
        "private_key_file": "/var/lib/istio/data/key.pem",
        "ca_certificate_file": "/var/lib/istio/data/root-cert.pem",
        "refresh_interval": "900s"
      }
    }
  },
  "server_listener_resource_name_template": "xds.istio.io/grpc/lds/inbound/%s"
}`;

const ISTIO_SIMPLE = `{
  "xds_servers": [
    {
      "server_uri": "dns:///istiod.istio-system.svc:15010",
      "channel_creds": [{ "type": "insecure" }],
      "server_features": ["xds_v3"]
    }
  ],
  "node": {
    "id": "sidecar~10.1.2.3~cart.shop~shop.svc.cluster.local",
    "metadata": { "GENERATOR": "grpc", "INSTANCE_IPS": "10.1.2.3", "NAMESPACE": "shop" }
  }
}`;

const GOOGLE = `{
  "xds_servers": [
    {
      "server_uri": "trafficdirector.googleapis.com:443",
      "channel_creds": [{ "type": "google_default" }],
      "server_features": ["xds_v3", "ignore_resource_deletion", "trusted_xds_server"]
    }
  ],
  "authorities": {
    "traffic-director-global.xds.googleapis.com": {
      "client_listener_resource_name_template": "xdstp://traffic-director-global.xds.googleapis.com/envoy.config.listener.v3.Listener/1234/shop/%s"
    },
    "traffic-director-c2p.xds.googleapis.com": {
      "xds_servers": [
        {
          "server_uri": "dns:///directpath-pa.googleapis.com",
          "channel_creds": [{ "type": "google_default" }],
          "server_features": ["xds_v3", "ignore_resource_deletion"]
        }
      ],
      "client_listener_resource_name_template": "xdstp://traffic-director-c2p.xds.googleapis.com/envoy.config.listener.v3.Listener/%s"
    }
  },
  "client_default_listener_resource_name_template": "xdstp://traffic-director-global.xds.googleapis.com/envoy.config.listener.v3.Listener/1234/shop/%s",
  "node": {
    "id": "projects/1234/networks/mesh:shop/nodes/6f1c8f5e-0000-4000-8000-000000000000",
    "cluster": "cluster",
    "metadata": {
      "INSTANCE_IP": "10.0.0.7",
      "TRAFFICDIRECTOR_GRPC_BOOTSTRAP_GENERATOR_SHA": "0123abc"
    },
    "locality": { "zone": "europe-west1-b" }
  },
  "certificate_providers": {
    "google_cloud_private_spiffe": {
      "plugin_name": "file_watcher",
      "config": {
        "certificate_file": "certificates.pem",
        "private_key_file": "private_key.pem",
        "ca_certificate_file": "ca_certificates.pem",
        "refresh_interval": "600s"
      }
    }
  },
  "server_listener_resource_name_template": "grpc/server?xds.resource.listening_address=%s"
}`;

const certificateProviders = new CertificateProviderRegistry();
certificateProviders.register(createFileWatcher({ spiffeBundles: true }));

function parse(text: string): Bootstrap {
  const result = parseBootstrap(JSON.parse(text), 'test', {
    channelCreds: new Set(['google_default', 'insecure', 'tls']),
    callCreds: new Set<string>(),
    certificateProviders,
  });
  if (!result.ok) throw new Error(result.error.join('; '));
  return result.value;
}

describe('bootstraps found in the field', () => {
  it('parses that of the agent of Istio', () => {
    const bootstrap = parse(ISTIO_AGENT);
    expect(bootstrap.servers[0]?.serverUri).toBe('unix:///etc/istio/proxy/XDS');
    expect(bootstrap.node.locality).toEqual({ region: '', zone: '', subZone: '' });
    expect(bootstrap.node.metadata?.get('PROXY_CONFIG')).toEqual({
      concurrency: 2,
      drainDuration: '45s',
      statNameLength: 189,
    });
    expect(bootstrap.certificateProviders.get('default')?.pluginName).toBe('file_watcher');
    expect(
      listenerResourceName(bootstrap, { authority: '', path: 'catalog.shop.svc:7070' }),
    ).toEqual({ ok: true, value: 'catalog.shop.svc:7070' });
    expect(serverListenerName(bootstrap, '10.1.2.3', 7070)).toEqual({
      ok: true,
      value: 'xds.istio.io/grpc/lds/inbound/10.1.2.3:7070',
    });
  });

  it('parses that of Istio for a pod without an agent: no locality, no cluster', () => {
    const bootstrap = parse(ISTIO_SIMPLE);
    expect(bootstrap.servers[0]?.serverUri).toBe('dns:///istiod.istio-system.svc:15010');
    expect(bootstrap.node).toMatchObject({ cluster: '', locality: undefined });
  });

  it('parses that of the generator of Google: authorities that inherit the servers', () => {
    const bootstrap = parse(GOOGLE);
    const global = bootstrap.authorities.get('traffic-director-global.xds.googleapis.com');
    const direct = bootstrap.authorities.get('traffic-director-c2p.xds.googleapis.com');
    expect(global?.servers).toBe(bootstrap.servers);
    expect(direct?.servers.map((server) => server.serverUri)).toEqual([
      'dns:///directpath-pa.googleapis.com',
    ]);
    expect(bootstrap.node.locality).toEqual({ region: '', zone: 'europe-west1-b', subZone: '' });
    expect(listenerResourceName(bootstrap, { authority: '', path: 'catalog:80' })).toEqual({
      ok: true,
      value:
        'xdstp://traffic-director-global.xds.googleapis.com/envoy.config.listener.v3.Listener/1234/shop/catalog:80',
    });
    expect(serverListenerName(bootstrap, '::', 7070)).toEqual({
      ok: true,
      value: 'grpc/server?xds.resource.listening_address=[::]:7070',
    });
  });
});
