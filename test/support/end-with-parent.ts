/**
 * For programs that a test starts with an IPC channel. Import it first: it ends the program when its parent dies,
 * whatever the program is doing.
 */
const end = () => process.exit();
if (process.connected === false) end();
process.once('disconnect', end);
