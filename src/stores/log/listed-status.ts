import { statuses } from '../../schema/statuses.ts';

/** In SQL: a status that no release writes stands for `closed`, so that a filter for those that are not archived leaves no session out. */
export const listedStatus = `case when status in (${statuses.map((each) => `'${each}'`).join(', ')}) then status else 'closed' end`;
