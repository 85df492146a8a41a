import { type ManagedProcess, readLines } from '../process/managed-process.ts';
import type { AgentAnswer, AgentRequest } from './netns-agent.ts';

/** Sends requests to the agent inside a namespace; see netns-agent.ts. */
export type AskAgent = (request: AgentRequest) => Promise<unknown>;

/** Pairs requests and responses of an agent process. Once it has ended, every request fails. */
export function createAgentClient(agent: ManagedProcess): AskAgent {
  const waiting = new Map<number, (answer: AgentAnswer) => void>();
  const { stdin } = agent.child;
  if (stdin === null) throw new Error('the agent needs pipes');
  stdin.on('error', () => {});
  readLines(agent, (line) => {
    const answer = JSON.parse(line) as AgentAnswer;
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
  });
  void agent.exited.then(() => {
    for (const [id, settle] of waiting) settle({ id, error: 'the agent has ended' });
    waiting.clear();
  });
  let lastId = 0;
  return async (request) => {
    lastId += 1;
    const id = lastId;
    const ending = agent.ending();
    if (ending !== undefined) throw new Error(`the agent has ended: ${ending}`);
    const answer = await new Promise<AgentAnswer>((settle) => {
      waiting.set(id, settle);
      stdin.write(`${JSON.stringify({ id, ...request })}\n`);
    });
    if (answer.error !== undefined) throw new Error(`${request.op}: ${answer.error}`);
    return answer.result;
  };
}
