import { createResource } from 'grpc-xds/internal';
import type { SnapshotResource } from 'grpc-xds/control-plane';
import type { Audience } from './translate/audience';
import type { ResourcePlan } from './translate/plan';

/** A resource that may differ between audiences. It is encoded when it is first requested, once for those with the same one. */
export class VariedResource {
  private readonly variants = new Map<string, SnapshotResource>();

  /** @param earlier The variants of the version before, which remain the same objects where they are equal. */
  constructor(
    readonly plan: ResourcePlan,
    private readonly earlier?: ReadonlyMap<string, SnapshotResource>,
  ) {}

  /** Returns the one of another plan for the same name: this one if its resources are the same. */
  with(plan: ResourcePlan): VariedResource {
    return plan.digest === this.plan.digest ? this : new VariedResource(plan, this.variants);
  }

  /** Returns the resource for an audience; `undefined` if it does not see it. */
  for(audience: Audience): SnapshotResource | undefined {
    if (!this.isVisible(audience)) return undefined;
    const variant = this.plan.variantOf(audience);
    let resource = this.variants.get(variant);
    if (resource === undefined) {
      const { kind, name } = this.plan;
      const value = this.plan.encode(audience);
      resource = createResource(kind, { name, value }, this.earlier?.get(variant));
      this.variants.set(variant, resource);
    }
    return resource;
  }

  /** Whether two audiences receive the same. */
  isSame(a: Audience, b: Audience): boolean {
    if (this.isVisible(a) !== this.isVisible(b)) return false;
    return this.plan.variantOf(a) === this.plan.variantOf(b);
  }

  isVisible({ visible }: Audience): boolean {
    return visible === undefined || this.plan.namespaces.some((each) => visible.has(each));
  }
}
