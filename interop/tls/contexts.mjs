// The TLS contexts of clusters that configurations are made of, in proto3 JSON.

/** The instance that clusters name unless they say otherwise; see `providersOf`. */
export const MESH = { instance_name: 'mesh' };

export const ID = 'spiffe://td.test/ns/a/sa/server';

export const instance = (instance_name, certificate_name) => ({
  instance_name,
  ...(certificate_name !== undefined && { certificate_name }),
});

/** What a context has of the mesh: its identity, and its roots. */
export const IDENTITY = { tls_certificate_provider_instance: MESH };
export const ROOTS = { ca_certificate_provider_instance: MESH };

/** An UpstreamTlsContext with a common context; `extra` goes beside it. */
export const common = (common_tls_context, extra = {}) => ({ common_tls_context, ...extra });

/** One whose server is validated by the roots of the mesh, and `validation`. */
export const mutual = (validation = {}, extra = {}) =>
  common(
    {
      tls_certificate_provider_instance: MESH,
      validation_context: { ca_certificate_provider_instance: MESH, ...validation },
    },
    extra,
  );

export const names = (...match_subject_alt_names) => mutual({ match_subject_alt_names });
export const typedNames = (...match_typed_subject_alt_names) =>
  mutual({ match_typed_subject_alt_names });

/** The roots and the identity of another instance. */
export const roots = (instance_name, validation = {}) =>
  common({
    tls_certificate_provider_instance: { instance_name },
    validation_context: { ca_certificate_provider_instance: { instance_name }, ...validation },
  });

/** Another identity; `undefined` for none. */
export const identity = (instance_name) =>
  common({
    ...(instance_name !== undefined && { tls_certificate_provider_instance: { instance_name } }),
    validation_context: ROOTS,
  });

export const system = (validation = {}, extra = {}) =>
  common(
    {
      tls_certificate_provider_instance: MESH,
      validation_context: { system_root_certs: {}, ...validation },
    },
    extra,
  );

export const regex = (text) => ({ safe_regex: { regex: text } });

export const accept = 'accept';
export const reject = 'reject';
