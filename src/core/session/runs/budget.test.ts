import { expect, test } from 'vitest';
import type { SessionFold } from '../fold.ts';
import { budgetOfChild } from './budget.ts';

const parent = (limits: SessionFold['limits']) =>
  ({ limits, spent: { turns: 1, tokens: 400, usd: 0.5, unpriced: 0, activeMs: 3000 } }) as SessionFold;

test("[SUB7] a child's budget is the rest of its parent's budget, for each limit", () => {
  const left = { tokens: 600, usd: 1.5, activeMs: 7000 };
  expect(budgetOfChild(parent({ turns: 9, tokens: 1000, usd: 2, activeMs: 10_000 }), undefined)).toEqual(left);
  expect(budgetOfChild(parent({ tokens: 100, usd: 0.1, activeMs: 1 }), undefined)).toEqual({
    tokens: 0,
    usd: 0,
    activeMs: 0,
  });
});

test("[SUB7] a child's budget never exceeds its own agent's budget, including turns", () => {
  const own = { turns: 2, tokens: 50, usd: 0.2, activeMs: 900 };
  expect(budgetOfChild(parent({}), { budget: own })).toEqual(own);
  expect(budgetOfChild(parent({ tokens: 1000, usd: 2, activeMs: 10_000 }), { budget: own })).toEqual(own);
  expect(budgetOfChild(parent({ tokens: 410, usd: 0.6, activeMs: 3100 }), { budget: own })).toMatchObject({
    tokens: 10,
    usd: expect.closeTo(0.1),
    activeMs: 100,
  });
});
