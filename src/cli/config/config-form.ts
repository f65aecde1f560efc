/** As it is told to whoever wrote something else. */
export const configForm = 'export default { agents: [defineAgent({ … })] }';
