const STATE_OF_THE_WORLD = /\/Stream(AggregatedResources|Listeners|Routes|Clusters|Endpoints)$/;

/** Whether a method is one of those that can be served without a gRPC server: state of the world, of all types or one. */
export function isServedWithoutGrpc(method: string): boolean {
  return STATE_OF_THE_WORLD.test(method);
}
