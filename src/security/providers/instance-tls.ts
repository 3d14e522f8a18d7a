import type {
  CertificateInstances,
  CertificateProviderConfig,
  NodeConfig,
} from '../../bootstrap/bootstrap';
import type { CertificateInstance } from '../../resources/tls/tls';

/** A certificate provider instance, and what it is. */
export interface ServiceInstance extends CertificateInstance {
  readonly provider: CertificateProviderConfig;
}

/** The config of TLS with certificates of provider instances, which a trusted control plane names (gRFC A102). */
export class InstanceTls {
  constructor(
    readonly root: ServiceInstance,
    readonly identity: ServiceInstance | undefined,
    readonly node: NodeConfig,
  ) {}

  /** Its certificates as those of a bootstrap. */
  get instances(): CertificateInstances {
    const all = [this.root, this.identity].filter((each) => each !== undefined);
    const certificateProviders = new Map(
      all.map(({ instanceName, provider }) => [instanceName, provider]),
    );
    return { certificateProviders, node: this.node, source: 'of this process' };
  }
}
