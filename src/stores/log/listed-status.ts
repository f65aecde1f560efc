import { statuses } from '../../schema/statuses.ts';

/**
 * SQL expression for the status in listings. It maps unknown statuses to `closed`, so that filtering out archived
 * sessions hides no other session.
 */
export const listedStatus = `case when status in (${statuses.map((each) => `'${each}'`).join(', ')}) then status else 'closed' end`;
