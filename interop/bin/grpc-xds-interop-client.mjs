#!/usr/bin/env node
import { runClient } from '../client/run-client.mjs';

await runClient(process.argv);
