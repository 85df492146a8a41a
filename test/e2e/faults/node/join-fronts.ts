import type { FaultFront } from '../fault-front.ts';

/** Several addresses of the API server as one: what a fault does to it happens at each of them. */
export function joinFronts(fronts: readonly FaultFront[]): FaultFront {
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
  return {
    url: fronts[0]?.url ?? '',
    get requests() {
      return fronts.flatMap(({ requests }) => requests);
    },
    get connections() {
      return fronts.flatMap(({ connections }) => connections);
    },
    get open() {
      return new Set(fronts.flatMap(({ open }) => [...open]));
    },
    get sessions() {
      return new Set(fronts.flatMap(({ sessions }) => [...sessions]));
    },
    get isHttp2() {
      return fronts.some(({ isHttp2 }) => isHttp2);
    },
    beginTcp: async (fault) => {
      const active = await Promise.all(fronts.map(async (front) => await front.beginTcp(fault)));
      return {
        hits: () => sum(active.map(({ hits }) => hits())),
        end: async () => {
          for (const { end } of active) await end();
        },
        stillOpen: async (withinMs) =>
          (await Promise.all(active.map(async (each) => await each.stillOpen(withinMs)))).flat(),
      };
    },
    beginHttp: (fault) => {
      const active = fronts.map((front) => front.beginHttp(fault));
      return {
        hits: () => sum(active.map(({ hits }) => hits())),
        end: () => {
          for (const { end } of active) end();
        },
      };
    },
    cut: () => sum(fronts.map((front) => front.cut())),
    showCertificate: (certificate) => {
      for (const front of fronts) front.showCertificate(certificate);
    },
    offer: (protocols) => {
      for (const front of fronts) front.offer(protocols);
    },
    limitStreams: (most) => {
      for (const front of fronts) front.limitStreams(most);
    },
    redirect: (origin, takes) => {
      for (const front of fronts) front.redirect(origin, takes);
    },
    stop: async () => {
      for (const front of fronts) await front.stop();
    },
  };
}
