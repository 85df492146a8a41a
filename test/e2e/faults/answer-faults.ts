import type { AnswerFault } from '../support/relay-answerer.ts';
import type { FaultKind } from './fault.ts';
import type { FaultScene } from './fault-scene.ts';

type Answer = Pick<AnswerFault, 'status' | 'headers' | 'body'>;

/** What comes in place of the API server's answers. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  '401': { status: 401 },
  '403': { status: 403 },
  '429 with Retry-After': { status: 429, headers: { 'retry-after': '1' } },
  '500': { status: 500 },
  '503 with Retry-After': { status: 503, headers: { 'retry-after': '1' } },
  'a body without an end': { status: 200, body: 'endless' },
  'a body byte by byte': { status: 200, body: 'slow' },
};

/** At all of its addresses, or only at the one that is in use. */
export function answerFaults(): FaultKind[] {
  return (['upstream', 'inUse'] as const).flatMap((side) => {
    const where = side === 'upstream' ? 'API server answers' : 'API server in use answers';
    const kind = (name: string, toFault: (scene: FaultScene) => AnswerFault): FaultKind => ({
      name: `${where}: ${name}`,
      weight: 2,
      strike: async (scene) => {
        await scene.node.inject(side, toFault(scene));
        return async () => {
          await scene.node.inject(side, null);
          return await scene.node.harmed(side);
        };
      },
    });
    const answers = Object.entries(ANSWERS).map(([name, answer]) =>
      kind(name, ({ plane }) => ({ kind: 'answer', ...plane.cert, ...answer })),
    );
    const stranger = kind('the certificate of somebody else', ({ node }) => ({
      kind: 'answer',
      status: 500,
      ...node.stranger,
    }));
    return [...answers, stranger];
  });
}
