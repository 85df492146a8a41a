import { render } from 'preact';
import { App } from './app.tsx';
import { Poller } from './poller.ts';

const root = document.getElementById('page') as HTMLElement;
const poller = new Poller(() => draw());

function draw(): void {
  render(<App page={poller.state} want={want} />, root);
}

function want(...args: Parameters<Poller['want']>): void {
  poller.want(...args);
}

draw();
poller.start();
// The bar of the demo has changed the cluster.
document.addEventListener('changed', () => poller.refresh());
