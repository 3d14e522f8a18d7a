export { FakeSubchannel } from '../../src/testing/fake-lb-host';
