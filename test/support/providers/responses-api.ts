import {
  type Body,
  dataUrlProblem,
  firstProblem,
  halves,
  type Issued,
  isObjectText,
  type ProviderApi,
  type ScriptedAnswer,
  usage,
  words,
} from './provider-api.ts';

const itemFrames = ({ thinking, text, calls = [] }: ScriptedAnswer, { signature }: Issued, encrypted: boolean) => {
  const sealed = encrypted ? signature : null;
  let output_index = 0;
  const events: { type: string; [key: string]: unknown }[] = [];
  const item = (added: object, done: object, ...between: readonly { type: string; [key: string]: unknown }[]) => {
    events.push({ type: 'response.output_item.added', output_index, item: added });
    events.push(...between.map((event) => ({ ...event, output_index })));
    events.push({ type: 'response.output_item.done', output_index, item: done });
    output_index += 1;
  };
  if (thinking) {
    const id = `rs_${signature}`;
    const reasoning = { type: 'reasoning', id, summary: [] };
    item(
      { ...reasoning, encrypted_content: encrypted ? 'unfinished' : null },
      { ...reasoning, summary: [{ type: 'summary_text', text: thinking }], encrypted_content: sealed },
      { type: 'response.reasoning_summary_part.added', item_id: id, summary_index: 0 },
      ...words(thinking).map((delta) => ({
        type: 'response.reasoning_summary_text.delta',
        item_id: id,
        summary_index: 0,
        delta,
      })),
      { type: 'response.reasoning_summary_part.done', item_id: id, summary_index: 0 },
    );
  }
  if (text) {
    const message = { type: 'message', id: `msg_${signature}`, role: 'assistant', content: [] };
    const deltas = words(text).map((delta) => ({
      type: 'response.output_text.delta',
      item_id: message.id,
      content_index: 0,
      delta,
    }));
    item(message, { ...message, content: [{ type: 'output_text', text, annotations: [] }] }, ...deltas);
  }
  for (const { id, tool, input } of calls) {
    const call = { type: 'function_call', id: `fc_${id}`, call_id: id, name: tool };
    const deltas = halves(input).map((delta) => ({
      type: 'response.function_call_arguments.delta',
      item_id: call.id,
      delta,
    }));
    item({ ...call, arguments: '' }, { ...call, arguments: input, status: 'completed' }, ...deltas, {
      type: 'response.function_call_arguments.done',
      item_id: call.id,
      arguments: input,
    });
  }
  return events;
};

const frames = (answer: ScriptedAnswer, body: Body, issued: Issued): string[] => {
  const response = { id: 'resp_1', created_at: 1, model: body.model };
  const encrypted = (body.include ?? []).includes('reasoning.encrypted_content');
  const events = [
    { type: 'response.created', response },
    ...itemFrames(answer, issued, encrypted),
    {
      type: 'response.completed',
      response: {
        ...response,
        usage: {
          input_tokens: usage.input,
          input_tokens_details: { cached_tokens: usage.cached },
          output_tokens: usage.output,
          output_tokens_details: { reasoning_tokens: usage.reasoning },
        },
      },
    },
  ];
  return events.map(
    (event, sequence_number) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`,
  );
};

/**
 * Checks that a call that arrived with reasoning is sent back together with that reasoning. Returns the problem, if
 * there is one.
 */
const reasoningProblem = (items: readonly Body[], index: number, issued: readonly Issued[]): string | undefined => {
  const call = items[index];
  const origin = issued.find(({ calls, thinking }) => thinking !== '' && calls.includes(call.call_id));
  if (!origin) return undefined;
  const before = items.slice(0, index).find(({ type, id }) => type === 'reasoning' && id === `rs_${origin.signature}`);
  if (!before) {
    return `Item 'fc_${call.call_id}' of type 'function_call' was provided without its required 'reasoning' item: 'rs_${origin.signature}'.`;
  }
  return before.encrypted_content === origin.signature ? undefined : 'The encrypted content could not be verified.';
};

function* problems(body: Body, issued: readonly Issued[]): Generator<string | false | undefined> {
  const items: Body[] = body.input;
  const tools: string[] = (body.tools ?? []).map(({ name }: Body) => name);
  const ids = (type: string) => items.filter((item) => item.type === type).map((item) => item.call_id);
  for (const [index, item] of items.entries()) {
    yield item.type === 'item_reference' &&
      body.store === false &&
      `Item with id '${item.id}' not found. Items are not persisted when \`store\` is set to false.`;
    yield item.type === 'reasoning' &&
      (items[index + 1]?.role ?? 'assistant') !== 'assistant' &&
      `Item '${item.id}' of type 'reasoning' was provided without its required following item.`;
    yield item.role === 'assistant' && items[index - 1]?.role === 'assistant' && 'two assistant messages in a row';
    for (const { type, text, image_url, file_data } of item.role === 'user' ? item.content : []) {
      yield type === 'input_text' ? !text && 'empty text' : dataUrlProblem(image_url ?? file_data);
    }
    if (item.type === 'function_call') {
      yield !tools.includes(item.name) && `function_call: ${item.name} is not among the tools`;
      yield !isObjectText(item.arguments) && 'function_call: arguments are no object';
      yield item.call_id.length > 64 && 'function_call.call_id: string too long';
      yield !ids('function_call_output').includes(item.call_id) &&
        `No tool output found for function call ${item.call_id}.`;
      yield reasoningProblem(items, index, issued);
    }
    yield item.type === 'function_call_output' &&
      !items.slice(0, index).some(({ type, call_id }) => type === 'function_call' && call_id === item.call_id) &&
      `No tool call found for function call output with call_id ${item.call_id}.`;
  }
}

/** The Responses API of OpenAI. */
export const responsesApi: ProviderApi = {
  path: '/v1/responses',
  keyHeader: (key) => ['authorization', `Bearer ${key}`],
  problemOf: (body, issued) => firstProblem(problems(body, issued)),
  frames,
  errorFrame: () => {
    const error = {
      type: 'error',
      sequence_number: 9,
      code: 'server_error',
      message: 'The server had an error',
      param: null,
    };
    return `event: error\ndata: ${JSON.stringify(error)}\n\n`;
  },
  errorBody: ({ message, code = null }) => ({ error: { message, type: 'invalid_request_error', param: null, code } }),
  overflow: {
    status: 400,
    code: 'context_length_exceeded',
    message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
  },
};
