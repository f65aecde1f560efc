/** Example of a valid configuration, for error messages. */
export const configForm = 'export default { agents: [defineAgent({ … })] }';
