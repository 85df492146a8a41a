import { render } from 'preact';
import { App } from './app.tsx';
import { follow } from './follow.ts';
import { Store } from './store.ts';

const root = document.getElementById('page') as HTMLElement;
const store = new Store(() => draw());

function draw(): void {
  render(<App page={store.page} />, root);
}

draw();
follow(store);
