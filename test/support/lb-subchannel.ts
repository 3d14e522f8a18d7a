export { FakeSubchannel } from '../../src/testing/fake-subchannel';
