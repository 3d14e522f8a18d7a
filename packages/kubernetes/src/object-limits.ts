/** Bounds on what is read of objects: those of the API, where it has them. */
export const OBJECT_LIMITS = {
  /** Objects of one kind, of a namespace or of all; Kubernetes itself is made for 10,000 Services and 5,000 nodes. */
  perKind: 100_000,
  /** Characters of a name, of a label's key and of a host name. */
  nameLength: 253,
  /** Characters of a text that is no name, such as a version. */
  textLength: 1024,
  /** Characters of all labels, and of all annotations, of an object. */
  metadataLength: 256 * 1024,
  ipFamilies: 2,
  portsPerService: 1000,
  portsPerSlice: 100,
  endpointsPerSlice: 1000,
  addressesPerEndpoint: 100,
  hintsPerEndpoint: 100,
  /** Of the elements of `from`, and of `to`. */
  elementsPerGrant: 100,
} as const;
