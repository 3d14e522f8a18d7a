// The backend. Answers each message with how many connections there are.
const { startBackend } = require('./backend.cjs');
const { emptyCallService } = require('./echo-service.cjs');

startBackend(undefined, [emptyCallService]).then(({ port, connections }) => {
  process.on('message', () => process.send(connections));
  process.send({ port });
});
