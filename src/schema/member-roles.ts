export const memberRoles = ['viewer', 'member', 'approver', 'admin'] as const;
