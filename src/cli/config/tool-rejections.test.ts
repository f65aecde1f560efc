import { expect, test } from 'vitest';
import { insideCall, outsideCall } from '../../core/host/current-call.ts';
import { onToolRejection, reportToolRejection, type ToolRejection } from './tool-rejections.ts';

const call = {
  workspace: 'local',
  session: 'ses_1',
  run: 'run_1',
  callId: 'c1',
  tool: 'pay',
  redact: (text: string) => text.replaceAll('hunter2', '[secret]'),
};

const reportsOf = (reason: unknown) => {
  const printed: string[] = [];
  const isTools = insideCall(call, () => reportToolRejection(reason, (text) => printed.push(text)));
  return { isTools, text: printed.join() };
};

test('[RUN48] a report names the call, hides secrets and survives any reason', () => {
  expect(reportsOf(new Error('wrong password hunter2'))).toEqual({
    isTools: true,
    text: expect.stringMatching(/the tool pay .* call c1 of ses_1 began: Error: wrong password \[secret\]/),
  });
  const hostile = Object.defineProperty(new Error('a'), 'stack', {
    get: () => {
      throw new Error('unreadable');
    },
  });
  expect(reportsOf(hostile).text).toContain('an error that cannot be read');
  for (const reason of [undefined, null, 1, Symbol('s'), {}]) expect(reportsOf(reason).isTools).toBe(true);
  expect(reportsOf('x'.repeat(1e6)).text.length).toBeLessThan(11_000);
});

test('[RUN48] a rejection outside of calls, or inside the engine, is not reported as that of a tool', async () => {
  const reports: ToolRejection[] = [];
  const release = onToolRejection((rejection) => reports.push(rejection));
  const report = async () => reportToolRejection(new Error('a defect'), () => {});
  expect(await report()).toBe(false);
  expect(await insideCall(call, () => outsideCall(report))).toBe(false);
  expect(await insideCall(call, report)).toBe(true);
  expect(reports).toEqual([{ ...call, redact: undefined, error: expect.stringContaining('a defect') }]);
  release();
});
