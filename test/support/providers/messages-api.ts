import {
  type Body,
  firstProblem,
  halves,
  type Issued,
  isObject,
  mediaProblem,
  type ProviderApi,
  type ScriptedAnswer,
  usage,
  words,
} from './provider-api.ts';

const frame = (data: { type: string; [key: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

const block = (index: number, start: object, deltas: readonly object[]): string[] => [
  frame({ type: 'content_block_start', index, content_block: start }),
  ...deltas.map((delta) => frame({ type: 'content_block_delta', index, delta })),
  frame({ type: 'content_block_stop', index }),
];

const blocksOf = ({ thinking, text, calls = [] }: ScriptedAnswer, signature: string) => [
  ...(thinking
    ? [
        {
          start: { type: 'thinking', thinking: '', signature: '' },
          deltas: [
            ...words(thinking).map((each) => ({ type: 'thinking_delta', thinking: each })),
            { type: 'signature_delta', signature },
          ],
        },
      ]
    : []),
  ...(text
    ? [{ start: { type: 'text', text: '' }, deltas: words(text).map((each) => ({ type: 'text_delta', text: each })) }]
    : []),
  ...calls.map(({ id, tool, input }) => ({
    start: { type: 'tool_use', id, name: tool, input: {} },
    deltas: halves(input).map((each) => ({ type: 'input_json_delta', partial_json: each })),
  })),
];

const frames = (answer: ScriptedAnswer, body: Body, { signature }: Issued): string[] => [
  frame({
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: body.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: usage.input - usage.cached, cache_read_input_tokens: usage.cached, output_tokens: 1 },
    },
  }),
  frame({ type: 'ping' }),
  ...blocksOf(answer, signature).flatMap(({ start, deltas }, index) => block(index, start, deltas)),
  frame({
    type: 'message_delta',
    delta: { stop_reason: answer.calls ? 'tool_use' : 'end_turn', stop_sequence: null },
    usage: { output_tokens: usage.output, output_tokens_details: { thinking_tokens: usage.reasoning } },
  }),
  frame({ type: 'message_stop' }),
];

const ofType = (content: Body, type: string): Body[] =>
  Array.isArray(content) ? content.filter((each: Body) => each.type === type) : [];

/**
 * Checks that a turn with calls begins with the signed thinking that led to them. Returns the problem, if there is
 * one.
 */
const thinkingProblem = (content: Body, issued: readonly Issued[]): string | undefined => {
  for (const { id } of ofType(content, 'tool_use')) {
    const origin = issued.find(({ calls, thinking }) => thinking !== '' && calls.includes(id));
    if (!origin) continue;
    const [first] = content;
    if (first.type !== 'thinking') return `Expected \`thinking\` or \`redacted_thinking\`, but found \`${first.type}\``;
    if (first.signature !== origin.signature || first.thinking !== origin.thinking) {
      return 'Invalid `signature` in `thinking` block';
    }
  }
  return undefined;
};

function* problems(body: Body, issued: readonly Issued[]): Generator<string | false | undefined> {
  const messages: Body[] = body.messages ?? [];
  const tools: string[] = (body.tools ?? []).map(({ name }: Body) => name);
  yield !body.max_tokens && 'max_tokens: Field required';
  yield messages[0]?.role !== 'user' && 'messages: first message must use the "user" role';
  for (const [index, { role, content }] of messages.entries()) {
    const next = messages[index + 1];
    const uses = ofType(content, 'tool_use');
    const results = ofType(content, 'tool_result');
    yield next?.role === role && 'messages: roles must alternate between "user" and "assistant"';
    yield !['user', 'assistant'].includes(role) && `messages: unexpected role "${role}"`;
    yield content.length === 0 && 'messages: content must be non-empty';
    yield ofType(content, 'text').some(({ text }) => text.trim() === '') && 'text content blocks must be non-empty';
    yield uses.some(({ input }) => !isObject(input)) && 'tool_use.input: Input should be a valid dictionary';
    yield uses.some(({ id }) => !/^[a-zA-Z0-9_-]+$/.test(id)) && 'tool_use.id: String should match pattern';
    yield uses.some(({ name }) => !tools.includes(name)) && 'tool_use.name: not among the tools';
    const settled = ofType(next?.content, 'tool_result').map((each) => each.tool_use_id);
    yield uses.some(({ id }) => !settled.includes(id)) &&
      '`tool_use` ids were found without `tool_result` blocks immediately after';
    const asked = ofType(messages[index - 1]?.content, 'tool_use').map(({ id }) => id);
    yield results.some((each) => !asked.includes(each.tool_use_id)) &&
      'unexpected `tool_use_id` found in `tool_result` blocks';
    yield results.length > 0 &&
      content.slice(0, results.length).some(({ type }: Body) => type !== 'tool_result') &&
      '`tool_result` blocks must come first';
    for (const { source } of [...ofType(content, 'image'), ...ofType(content, 'document')]) {
      yield source.type !== 'base64' ? 'source: expected base64' : mediaProblem(source.media_type, source.data);
    }
    if (role === 'assistant') yield thinkingProblem(content, issued);
  }
}

const error = (type: string, message: string) => ({ type: 'error', error: { type, message } });
const typeOf: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  500: 'api_error',
  529: 'overloaded_error',
};

/** The Messages API of Anthropic. */
export const messagesApi: ProviderApi = {
  path: '/v1/messages',
  keyHeader: (key) => ['x-api-key', key],
  problemOf: (body, issued) => firstProblem(problems(body, issued)),
  frames,
  errorFrame: () => frame(error('overloaded_error', 'Overloaded')),
  errorBody: ({ status, message }) => error(typeOf[status] ?? 'invalid_request_error', message),
  overflow: { status: 400, message: 'prompt is too long: 213462 tokens > 200000 maximum' },
};
