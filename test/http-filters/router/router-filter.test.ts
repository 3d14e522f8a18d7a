import { routerFilter } from '../../../src/http-filters/router/router-filter';
import type { ExtensionConfig } from '../../../src/resources/shared/extension-parser';
import { Violations } from '../../../src/util/violations';
import { noNested } from '../../support/no-nested-filters';

const ROUTER = 'envoy.extensions.filters.http.router.v3.Router';
const message = (...bytes: readonly number[]): ExtensionConfig => ({
  kind: 'message',
  typeName: ROUTER,
  bytes: Uint8Array.from(bytes),
});

describe('the router', () => {
  it('ignores all of its fields', () => {
    const violations = Violations.root();
    // Field 2 set to 1, as by `start_child_span`.
    expect(routerFilter.parseConfig(message(0x10, 0x01), violations, noNested)).toEqual({
      configType: ROUTER,
    });
    expect(violations.all).toEqual([]);
  });

  it.each<[ExtensionConfig, string]>([
    [message(0x0a), 'malformed message: premature EOF'],
    [
      { kind: 'json', typeName: ROUTER, json: {} },
      `must be a ${ROUTER} itself, not a TypedStruct that stands for one`,
    ],
  ])('refuses %j', (config, expected) => {
    const violations = Violations.root();
    expect(routerFilter.parseConfig(config, violations, noNested)).toBeUndefined();
    expect(violations.all).toEqual([expected]);
  });

  it('cannot be overridden', () => {
    const violations = Violations.root();
    expect(routerFilter.parseOverride(message(), violations, noNested)).toBeUndefined();
    expect(violations.all).toEqual(['the router filter cannot be overridden']);
  });
});
