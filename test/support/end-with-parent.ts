/** For programs that a test starts with a channel: imported first, it ends them when whoever started them is gone, whatever they do. */
const end = () => process.exit();
if (process.connected === false) end();
process.once('disconnect', end);
