import inspector from 'node:inspector';

/*
 * At SIGUSR1, Node.js opens its inspector at 127.0.0.1:9229, where any local user can run code in this process. It does
 * not if the signal has a listener. What a signal has opened before this line is closed; one whose opening is under way
 * opens it in the next turn of the event loop. With `--inspect` a developer wants it. Must be the first import of a
 * program, and does not depend on how that is started.
 */
process.on('SIGUSR1', () => {});
if (!/--inspect/.test([...process.execArgv, process.env.NODE_OPTIONS].join(' '))) {
  inspector.close();
  setImmediate(() => inspector.close());
}
