// Call credentials that are added to the result of one pick.

import { CallCredentials, Metadata, type Subchannel } from '../../src/grpc-js';
import { InterceptedSubchannel, withCallCredentials } from '../../src/grpc-js/subchannel-wrappers';
import { LbHarness } from '../support/lb-harness';

const credentialsWith = (name: string) =>
  CallCredentials.createFromMetadataGenerator((_options, callback) => {
    const metadata = new Metadata();
    metadata.set(name, '1');
    callback(null, metadata);
  });
const generated = async (subchannel: Subchannel) => {
  const options = { method_name: '', service_url: '' };
  return (await subchannel.getCallCredentials().generateMetadata(options)).getMap();
};

describe('a picked subchannel with further call credentials', () => {
  const { host } = new LbHarness([]);
  const connection = host.createSubchannel({ host: '10.0.0.1', port: 80 }, {});
  const createCall = jest.fn();

  it('has those of the channel as well, and is the picked one otherwise', async () => {
    connection.getCallCredentials = () => credentialsWith('channel');
    const picked = new InterceptedSubchannel(connection, createCall);
    const extended = withCallCredentials(picked, credentialsWith('filter'));
    expect(await generated(extended)).toEqual({ channel: '1', filter: '1' });
    expect(await generated(picked)).toEqual({ channel: '1' });
    expect(extended).toBeInstanceOf(InterceptedSubchannel);
    expect(extended.getRealSubchannel()).toBe(picked.getRealSubchannel());
    expect(extended.getAddress()).toBe('10.0.0.1:80');
  });

  it('is not referred to by the subchannel, which outlives the call', () => {
    const picked = new InterceptedSubchannel(connection, createCall);
    const watch = jest.spyOn(connection, 'addHealthStateWatcher');
    for (let call = 0; call < 10; call++) withCallCredentials(picked, credentialsWith('a'));
    expect(watch).not.toHaveBeenCalled();
  });
});
