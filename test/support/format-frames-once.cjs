/**
 * Returns a formatter of stacks (`Error.prepareStackTrace`) that writes what `format` does, and formats each frame once.
 * grpc-js reads two stacks for each call that fails, and Jest looks up each frame in source maps.
 */
exports.formatFramesOnce = (format) => {
  const error = { name: 'Error', message: '' };
  const start = format(error, []).length;
  /** By what V8 writes for a frame, with its position. */
  const texts = new Map();
  const textOf = (frame) => {
    const key = String(frame);
    const text = texts.get(key) ?? format(error, [frame]).slice(start);
    texts.set(key, text);
    return text;
  };
  return (thrown, frames) => format(thrown, []) + frames.map(textOf).join('');
};
