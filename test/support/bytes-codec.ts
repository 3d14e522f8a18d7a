const same = (bytes: Buffer): Buffer => bytes;

/** The part of a method's definition that leaves messages as bytes. */
export const bytesCodec = {
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
};
