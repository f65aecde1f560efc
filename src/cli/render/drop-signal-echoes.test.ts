import { expect, test } from 'vitest';
import type { Interrupt } from '../parse/command.ts';
import { dropSignalEchoes } from './drop-signal-echoes.ts';

test('[CLIR3] a signal and its forwarded copy are handled once, and a signal sent again later is handled again', () => {
  const heard: string[] = [];
  let now = 0;
  const hear = dropSignalEchoes(
    (interrupt) => heard.push(`${interrupt} ${now}`),
    () => now,
  );
  const at = (ms: number, interrupt: Interrupt) => {
    now = ms;
    hear(interrupt);
  };
  at(1, 'leave');
  at(40, 'leave');
  at(41, 'interrupt');
  at(45, 'interrupt');
  at(200, 'interrupt');
  at(1000, 'leave');
  expect(heard).toEqual(['leave 1', 'interrupt 41', 'interrupt 45', 'interrupt 200', 'leave 1000']);
});
