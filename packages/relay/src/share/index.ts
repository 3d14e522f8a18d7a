/** What `grpc-xds` loads of this package when streams are shared: `register({ share })`. */
export { Shares } from './shares';
