/** The roles from the lowest to the highest. Each role includes the permissions of the roles before it. */
export const memberRoles = ['viewer', 'member', 'approver', 'admin'] as const;

type Role = (typeof memberRoles)[number];

export const isAtLeast = (role: Role, least: Role): boolean => memberRoles.indexOf(role) >= memberRoles.indexOf(least);

export const lowerRole = (a: Role, b: Role): Role => (isAtLeast(a, b) ? b : a);
