/** A process whose worker begins an answer and never ends it. Arguments: the address of the store, and the text. */
import '../support/end-with-parent.ts';
import { defineAgent, openRuntime } from '../../src/index.ts';
import { toldModel } from '../support/runs/told-model.ts';

const [address, text] = process.argv.slice(2) as [string, string];
const { model, next } = toldModel();
const runtime = await openRuntime({ store: address, agents: [defineAgent({ name: 'tester', model })], worker: false });
await runtime.worker().start();
(await next()).say(text);
