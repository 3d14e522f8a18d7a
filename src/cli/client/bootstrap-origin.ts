import type { LoadBootstrapOptions } from '../../bootstrap/load-bootstrap';
import type { ClientSurroundings } from './client-parts';

/** Where the bootstrap is: a file, an object, or the environment. */
export type BootstrapOrigin =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'object'; readonly json: object }
  | { readonly kind: 'environment' };

/** Returns the options by which the bootstrap is loaded. */
export function bootstrapSource(
  origin: BootstrapOrigin,
  env: ClientSurroundings['env'],
): Pick<LoadBootstrapOptions, 'inline' | 'env'> {
  switch (origin.kind) {
    case 'file':
      return { env: { GRPC_XDS_BOOTSTRAP: origin.path } };
    case 'object':
      return { env: {}, inline: origin.json };
    case 'environment':
      return { env };
  }
}
