import { runRecovery } from './recovery-run.ts';

const {
  KPW_SEED = '1',
  KPW_FAULTS = '20',
  KPW_HISTORIES = '3',
  KPW_FAULT_SECONDS = '100',
  KPW_KIND = '',
  KPW_REAL = '0',
  KPW_SCALE = '1',
} = process.env;
const report = await runRecovery({
  seed: Number(KPW_SEED),
  faults: Number(KPW_FAULTS),
  seconds: Number(KPW_FAULT_SECONDS),
  histories: Number(KPW_HISTORIES),
  hasReal: KPW_REAL === '1',
  only: KPW_KIND,
  scale: Number(KPW_SCALE),
  log: (line) => process.stderr.write(line + '\n'),
});
report.print();
process.exit(0);
