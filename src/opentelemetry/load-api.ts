import type * as Api from '@opentelemetry/api';

/**
 * Loads `@opentelemetry/api`, an optional peer dependency. Metrics alone do not need it.
 * @throws Error if it is not installed.
 */
export function loadApi(): typeof Api {
  return (loaded ??= requireApi());
}

let loaded: typeof Api | undefined;

function requireApi(): typeof Api {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- the only way to load a module late without waiting for it; the type is that of the module
  return require('@opentelemetry/api');
}
